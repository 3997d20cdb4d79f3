"""What Chrome is told so that it reaches the network through the guard and in no other way; pure."""

from __future__ import annotations

from cdpfetch.daemon.guard.guard import HOST

# Without it Chrome goes to loopback directly, whatever the proxy.
_BYPASS = "<-loopback>"


def switches(port: int) -> list[str]:
    """The command line's part, for the lane of the default context that listens on ``port``."""
    return [
        f"--proxy-server=socks5://{HOST}:{port}",
        f"--proxy-bypass-list={_BYPASS}",
        # The switch whose name begins with force- does nothing.
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        # A second lock: what does not go to the guard has no name that resolves.
        f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {HOST}",
    ]


def context(port: int) -> dict[str, str]:
    """The parameters of ``Target.createBrowserContext`` for another lane.

    A context without them would use the lane of the default one; without the bypass list, loopback would be open.
    """
    return {"proxyServer": f"socks5://{HOST}:{port}", "proxyBypassList": _BYPASS}
