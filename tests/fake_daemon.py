"""A scripted daemon: a process with a real socket, lock and pidfile, whose behaviour the URLs and a file decide.

Run as ``python fake_daemon.py cdpfetch.daemon --ready-fd N`` with ``CDPFETCH_HOME`` set.  ``fake.json`` in the home
may hold: ``version``, ``protocol``; ``start`` (``refuse``, ``crash``, ``mute``, ``locked``); ``hello`` (``silent``,
``garbage``, ``hang-up`` for the first connection only); ``beat`` (seconds between heartbeats); ``browser`` (spawn a
stand-in for Chrome that outlives us); ``answers`` (op -> the fields of its result, and the ``stage`` before it).  Each
start appends its pid to ``starts`` in the home, each received request a line to ``requests``.

A fetch of ``fake:WORDS``, or of ``http(s)://HOST/WORDS``, does what the words say, in order: ``ok``, ``error:CODE``,
``wait:SECONDS``, ``status:N``, ``drip``, ``die``, ``quit`` (die before anything is said), ``mute`` (no word and no
heartbeat any more), ``stall`` (heartbeats only), ``garbage``, ``file:TEXT`` (a document with a body), ``nothing`` (a
result without a document).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cdpfetch import artifacts, process, wire
from cdpfetch.paths import Home


class Peer:
    """One connection."""

    def __init__(self, connected: socket.socket, daemon: Daemon) -> None:
        self.socket = connected
        self.daemon = daemon
        self.lock = threading.Lock()
        self.pending = 0
        self.mute = False

    def write(self, data: bytes) -> None:
        if self.mute:
            return
        with self.lock, contextlib.suppress(OSError):
            self.socket.sendall(data)

    def send(self, message: dict) -> None:
        self.write(wire.encode(message))

    def serve(self) -> None:
        hello = self.daemon.script.get("hello")
        if hello == "hang-up":
            self.daemon.script.pop("hello")
        if hello == "hang-up":
            self.socket.close()
            return
        if hello == "garbage":
            self.write(b"SSH-2.0-Other\r\n")
        elif hello != "silent":
            hello = wire.hello(self.daemon.version, pid=os.getpid())
            self.send({**hello, "protocol": self.daemon.protocol})
        threading.Thread(target=self.beat, daemon=True).start()
        with self.socket.makefile("rb") as lines:
            try:
                for line in lines:
                    message = json.loads(line)
                    self.daemon.note("requests", line.decode().strip())
                    if "op" in message:
                        threading.Thread(target=self.handle, args=(message,), daemon=True).start()
            except OSError:
                pass
        self.daemon.note("requests", json.dumps({"hang-up": True}))

    def beat(self) -> None:
        while True:
            time.sleep(self.daemon.script.get("beat", 0.05))
            if self.pending:
                self.send(wire.heartbeat())

    def handle(self, message: dict) -> None:
        self.pending += 1
        try:
            if message["op"] == "fetch":
                self.fetch(message)
            elif message["op"] == "shutdown":
                self.send(wire.result_event(message["id"], "shutdown"))
                self.daemon.leave()
            elif message["op"] in self.daemon.script.get("answers", {}):
                answer = self.daemon.script["answers"][message["op"]]
                if "stage" in answer:
                    self.send(wire.status_event(message["id"], answer.pop("stage")))
                self.send(wire.result_event(message["id"], message["op"], **answer))
            else:
                self.send(wire.result_event(message["id"], message["op"], pid=os.getpid(), version=self.daemon.version))
        finally:
            self.pending -= 1

    def fetch(self, message: dict) -> None:
        url = message["url"]
        words = (urllib.parse.unquote(url.rpartition("/")[2]) if url.startswith("http") else url[5:]).split(" ")
        if words[0] != "quit":
            self.send(wire.status_event(message["id"], "queued"))
        for word in words:
            verb, _, argument = word.partition(":")
            getattr(self, f"do_{verb}")(message, argument)

    def do_ok(self, message: dict, title: str) -> None:
        document = {
            **artifacts.new_document(message["url"]),
            "ok": True,
            "title": title or None,
            "dir": message["downloadDir"],
        }
        self.send(wire.result_event(message["id"], "fetch", document=document))

    def do_file(self, message: dict, text: str) -> None:
        with artifacts.Draft(message["downloadDir"], artifacts.new_fetch_id(message["url"])) as draft:
            draft.write("content.md", "content", text, "text/markdown")
            document = {**artifacts.new_document(message["url"]), "ok": True}
            self.send(wire.result_event(message["id"], "fetch", document=draft.commit(document)))

    def do_nothing(self, message: dict, _argument: str) -> None:
        self.send(wire.result_event(message["id"], "fetch"))

    def do_error(self, message: dict, code: str) -> None:
        self.send({"id": message["id"], "event": "error", "code": code, "reason": f"seen {code}", "hint": "try"})

    def do_partial(self, message: dict, code: str) -> None:
        document = {**artifacts.new_document(message["url"]), "status": 404, "bodies": [{"name": "content.md"}]}
        self.send({"id": message["id"], "event": "error", "code": code, "reason": "404", "document": document})

    def do_wait(self, _message: dict, seconds: str) -> None:
        time.sleep(float(seconds))

    def do_status(self, message: dict, count: str) -> None:
        for number in range(int(count)):
            self.send(wire.status_event(message["id"], "downloading", receivedBytes=number))

    def do_drip(self, message: dict, _argument: str) -> None:
        for byte in wire.encode(wire.status_event("other", "navigating")):
            self.write(bytes([byte]))
        self.do_ok(message, "dripped")

    def do_garbage(self, _message: dict, _argument: str) -> None:
        self.write(b"\xff\xfe not json\n")

    def do_die(self, _message: dict, _argument: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    do_quit = do_die

    def do_mute(self, _message: dict, _argument: str) -> None:
        self.mute = True

    def do_stall(self, _message: dict, _argument: str) -> None:
        time.sleep(3600)


class Daemon:
    """The process."""

    def __init__(self) -> None:
        self.home = Home(os.environ["CDPFETCH_HOME"])
        try:
            with open(os.path.join(self.home.root, "fake.json"), encoding="utf-8") as file:
                self.script = json.load(file)
        except FileNotFoundError:
            self.script = {}
        self.version = self.script.get("version", "0.1.0")
        self.protocol = self.script.get("protocol", wire.PROTOCOL)
        self.notes = threading.Lock()

    def note(self, name: str, line: str) -> None:
        with self.notes, open(os.path.join(self.home.root, name), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def leave(self) -> None:
        os.unlink(self.home.socket)
        os.unlink(self.home.pidfile)
        os._exit(0)

    def run(self, ready_fd: int) -> None:
        start = self.script.get("start")
        self.note("starts", str(os.getpid()))
        if start == "crash":
            print("Traceback: the fake crashed on purpose", file=sys.stderr)
            sys.exit(3)
        if start == "mute":
            time.sleep(3600)
        if start == "refuse":
            self.ready(
                ready_fd, {"ready": False, "code": "browser_not_found", "reason": "no Chrome", "hint": "install"}
            )
            return
        lock = os.open(self.home.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.ready(
                ready_fd, {"ready": False, "code": "daemon_unavailable", "reason": "another daemon holds the lock"}
            )
            return
        if self.script.get("browser"):
            code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
            child = subprocess.Popen([sys.executable, "-c", code, "--remote-debugging-pipe"])
            self.note("browser", str(child.pid))
        with open(self.home.pidfile, "w", encoding="utf-8") as file:
            json.dump({"pid": os.getpid(), "started": process.start_time(os.getpid()), "version": self.version}, file)
        if os.path.lexists(self.home.socket):
            os.unlink(self.home.socket)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.home.socket)
        listener.listen(64)
        self.ready(ready_fd, {"ready": True, "pid": os.getpid()})
        while True:
            connected, _ = listener.accept()
            threading.Thread(target=Peer(connected, self).serve, daemon=True).start()

    def ready(self, fd: int, report: dict) -> None:
        os.write(fd, json.dumps(report).encode() + b"\n")
        os.close(fd)


if __name__ == "__main__":
    Daemon().run(int(sys.argv[sys.argv.index("--ready-fd") + 1]))
