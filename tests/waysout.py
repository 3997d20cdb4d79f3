"""A page that tries every way out of the browser at once, and the traps that notice who gets through."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from urllib.parse import quote

from testsite import PROSE, Handler, page, route

HOSTS = ("127.0.0.1", "localhost", "[::1]")

# Kind of way -> what the page does with the origin ``o`` ("127.0.0.1:4711").  ``http`` is "http://" + o.
WAYS = {
    "image": "new Image().src = http + '/i.png'",
    "picture": "add('<picture><source srcset=\"' + http + '/s.png\"><img src=/pixel.png></picture>')",
    "fetch": "fetch(http + '/f', {mode: 'no-cors'}).catch(no)",
    "fetch_post": "fetch(http + '/p', {method: 'POST', mode: 'no-cors', body: 'x', keepalive: true}).catch(no)",
    "xhr": "const x = new XMLHttpRequest(); x.open('GET', http + '/x'); x.send()",
    "websocket": "new WebSocket('ws://' + o + '/w').onerror = no",
    "eventsource": "new EventSource(http + '/e').onerror = (e) => e.target.close()",
    "beacon": "navigator.sendBeacon(http + '/b', 'x')",
    "worker": "new Worker(blob(\"fetch('\" + http + \"/wk', {mode: 'no-cors'}).catch(() => 0)\"))",
    "worker_import": "new Worker(blob(\"importScripts('\" + http + \"/wi')\")).onerror = no",
    "shared_worker": "new SharedWorker(blob(\"fetch('\" + http + \"/sw', {mode: 'no-cors'}).catch(() => 0)\"))",
    "service_worker": "workers.push(http)",
    "iframe": "add('<iframe src=\"' + http + '/if\"></iframe>')",
    "object": "add('<object data=\"' + http + '/ob\"></object>')",
    "embed": "add('<embed src=\"' + http + '/em\">')",
    "form": "add('<iframe name=f' + id + '></iframe><form target=f' + id + ' method=post action=\"' + http + "
    "'/fm\"><input name=a></form>').querySelector('form').submit()",
    "popup": "open(http + '/pop')",
    "preconnect": "add('<link rel=preconnect href=\"' + http + '\">')",
    "prefetch": "add('<link rel=prefetch href=\"' + http + '/pf\">')",
    "preload": "add('<link rel=preload as=script href=\"' + http + '/pl\">')",
    "modulepreload": "add('<link rel=modulepreload href=\"' + http + '/mp\">')",
    "stylesheet": "add('<link rel=stylesheet href=\"' + http + '/st\">')",
    "script": "const s = document.createElement('script'); s.src = http + '/js'; document.body.append(s)",
    "module": "import(http + '/mo').catch(no)",
    "font": "new FontFace('f' + id, 'url(' + http + '/fo)').load().catch(no)",
    "background": "add('<div style=\"height:9px;background:url(' + http + '/bg)\">x</div>')",
    "video": "add('<video preload=auto src=\"' + http + '/vi\"></video>')",
    "audio": "new Audio(http + '/au').play().catch(no)",
    "svg": "add('<svg><image href=\"' + http + '/sv\" /></svg>')",
    "manifest": "document.head.insertAdjacentHTML('beforeend', '<link rel=manifest href=\"' + http + '/mf\">')",
    "speculation": "const r = document.createElement('script'); r.type = 'speculationrules'; r.textContent = "
    "JSON.stringify({prefetch: [{source: 'list', urls: [http + '/spec']}], "
    "prerender: [{source: 'list', urls: [http + '/pre']}]}); document.body.append(r)",
    "webrtc_stun": "rtc('stun:' + o)",
    "webrtc_turn": "rtc('turn:' + o + '?transport=tcp')",
    "webrtc_turn_udp": "rtc('turn:' + o + '?transport=udp')",
    "webtransport": "new WebTransport('https://' + o + '/wt').ready.catch(no)",
    "redirect": "fetch('/redirect-out?to=' + encodeURIComponent(http + '/rd'), {mode: 'no-cors'}).catch(no)",
    "redirect_frame": "frame('/redirect-out', http + '/rf')",
    "script_navigation": "frame('/script-redirect', http + '/sn')",
    "meta_refresh": "frame('/way/meta', http + '/mr')",
    # In a frame: Chrome takes a download from elsewhere for a navigation.
    "download": "frame('/way/download', http + '/dl')",
    "ping": "const a = add('<a ping=\"' + http + '/pg\" href=\"#\">x</a>').querySelector('a'); a.click()",
    "csp_report": "frame('/way/csp', http + '/cr')",
    "https": "fetch('https://' + o + '/s', {mode: 'no-cors'}).catch(no)",
}  # fmt: skip

_LIBRARY = """
const no = () => {}, workers = [];
let id = 0;
const blob = (text) => URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
const add = (html) => {
  const e = document.createElement('div');
  e.innerHTML = html;
  document.body.append(e);
  return e;
};
const frame = (path, to) => add('<iframe src="' + path + '?to=' + encodeURIComponent(to) + '"></iframe>');
const rtc = (url) => {
  const p = new RTCPeerConnection({iceServers: [{urls: url, username: 'u', credential: 'c'}]});
  p.createDataChannel('d');
  p.createOffer().then((offer) => p.setLocalDescription(offer)).catch(no);
};
"""


@route("/way/out")
def _(h: Handler) -> None:
    targets = json.loads(h.query["traps"])
    calls = "".join(
        f"for (const o of {json.dumps(targets[kind])}) {{ const http = 'http://' + o; id++; {way} }}\n"
        for kind, way in WAYS.items()
        if kind in targets
    )
    install = (
        "navigator.serviceWorker.register('/way/sw.js?to=' + encodeURIComponent(JSON.stringify(workers))).catch(no)"
    )
    h.reply(body=page(f"<h1>Ways out</h1><p>{PROSE}</p><script>{_LIBRARY}{calls}{install}</script>", "Ways out"))


@route("/way/meta")
def _(h: Handler) -> None:
    h.reply(body=page("<p>on</p>", head=f'<meta http-equiv="refresh" content="0; url={h.query["to"]}">'))


@route("/way/csp")
def _(h: Handler) -> None:
    h.reply(
        body=page("<img src='/pixel.png'><script>1</script>"),
        Content_Security_Policy=f"default-src 'none'; report-uri {h.query['to']}",
    )


@route("/way/download")
def _(h: Handler) -> None:
    h.reply(body=page(f"<a id=a download=x href='{h.query['to']}'>x</a><script>a.click()</script>"))


@route("/way/sw.js")
def _(h: Handler) -> None:
    body = f"for (const o of {h.query['to']}) fetch(o + '/from-sw', {{mode: 'no-cors'}}).catch(() => 0)"
    h.reply(body=body, kind="text/javascript")


class Trap:
    """One port of this machine, on TCP and UDP, IPv4 and IPv6; nobody answers there."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._tcp: list[socket.socket] = []
        self._udp: list[socket.socket] = []
        self.port = 0
        while not self._bind():
            self._stack.close()
            self._tcp, self._udp, self.port = [], [], 0

    def _bind(self) -> bool:
        """Take the same port everywhere; False when somebody has it somewhere."""
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            for kind, group in ((socket.SOCK_STREAM, self._tcp), (socket.SOCK_DGRAM, self._udp)):
                sock = self._stack.enter_context(socket.socket(family, kind))
                sock.setblocking(False)
                try:
                    sock.bind((host, self.port))
                except OSError:
                    return False
                self.port = sock.getsockname()[1]
                if kind == socket.SOCK_STREAM:
                    sock.listen(16)
                group.append(sock)
        return True

    def sprung(self) -> bool:
        """Whether somebody has been here since the last look."""
        seen = False
        for sock in self._tcp:
            with contextlib.suppress(BlockingIOError):
                while True:
                    sock.accept()[0].close()
                    seen = True
        for sock in self._udp:
            with contextlib.suppress(BlockingIOError):
                while True:
                    sock.recvfrom(2048)
                    seen = True
        return seen

    def close(self) -> None:
        self._stack.close()


class Traps:
    """A trap for every way out."""

    def __init__(self, kinds: tuple[str, ...] = tuple(WAYS)) -> None:
        self.by_kind = {kind: Trap() for kind in kinds}
        self.sprung: set[str] = set()

    @property
    def path(self) -> str:
        """The path of the page that tries them all."""
        targets = {kind: [f"{host}:{trap.port}" for host in HOSTS] for kind, trap in self.by_kind.items()}
        return "/way/out?traps=" + quote(json.dumps(targets))

    def look(self) -> set[str]:
        """The kinds of ways that have led into a trap so far."""
        self.sprung |= {kind for kind, trap in self.by_kind.items() if trap.sprung()}
        return self.sprung


@contextlib.contextmanager
def traps() -> Iterator[Traps]:
    """Traps that are gone afterwards."""
    found = Traps()
    try:
        yield found
    finally:
        for trap in found.by_kind.values():
            trap.close()
