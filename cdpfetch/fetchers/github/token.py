"""The token: from the environment, else the settings, else what ``gh`` has; anonymous without one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Mapping
from typing import NamedTuple

from cdpfetch.config import Config
from cdpfetch.errors import ConfigError
from cdpfetch.fetchers.github.hosts import Hosts

GH_SECONDS = 5.0
_VARIABLES = ("GH_TOKEN", "GITHUB_TOKEN")
_ENTERPRISE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
# What ``gh`` said in this process: (program, host) -> token, or None for no token.
_asked: dict[tuple[str, str], str | None] = {}


class Token(NamedTuple):
    """A token and the name of the place that it is from; its value shows in no repr."""

    value: str
    origin: str

    def __repr__(self) -> str:
        return f"<Token from {self.origin}>"


async def find(hosts: Hosts, config: Config, environ: Mapping[str, str]) -> Token | None:
    """The token for a GitHub, or None.

    An Enterprise Server's own variables come before the general ones, as ``gh`` has them.
    Raises ConfigError for one that can't be sent.
    """
    if not hosts.is_secure:
        return None
    for name in _VARIABLES if hosts.is_public else (*_ENTERPRISE, *_VARIABLES):
        if value := environ.get(name, "").strip():
            return Token(_checked(value, name), name)
    if value := (config.github.token or "").strip():
        return Token(_checked(value, "github.token"), "github.token")
    found = await _from_gh(hosts.name, environ)
    return Token(_checked(found, "`gh auth token`"), "`gh auth token`") if found else None


def _checked(value: str, origin: str) -> str:
    if value.isascii() and value.isprintable() and " " not in value and len(value) <= 2048:
        return value
    raise ConfigError(f"the token in {origin} has characters that no token has", "put the token alone there")


async def _from_gh(host: str, environ: Mapping[str, str]) -> str | None:
    """What ``gh auth token`` prints, asked once a process; None when there is no ``gh``, or it has none."""
    program = shutil.which("gh", path=environ.get("PATH", ""))
    if program is None:
        return None
    key = (program, host)
    if key not in _asked:
        _asked[key] = await _ask(program, host, environ)
    return _asked[key]


async def _ask(program: str, host: str, environ: Mapping[str, str]) -> str | None:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    command = (program, "auth", "token", "--hostname", host)
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=null, stdout=pipe, stderr=null, env=dict(environ), start_new_session=True
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(GH_SECONDS):
            out, _ = await child.communicate()
    except TimeoutError:
        return None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # with whatever it started, which would hold the pipe
            await child.wait()
    lines = out[:4096].decode("utf-8", "replace").split()
    return lines[0] if child.returncode == 0 and lines else None
