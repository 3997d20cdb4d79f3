"""The command line of Chrome; pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# What keeps a resident browser quiet, cheap and free of dialogs of its own.
_COMMON = (
    "--no-first-run",
    "--no-default-browser-check",
    # One cookie encryption in both modes, so that a login made in the window is readable headless.
    "--password-store=basic",
    "--use-mock-keychain",
)
_OFF = (
    "Translate",
    "OptimizationHints",
    "MediaRouter",
    "DialMediaRouteProvider",
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    # The address that was judged is the one that is asked.
    "HttpsUpgrades",
)
_HEADLESS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-pings",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--noerrdialogs",
    "--mute-audio",
    "--hide-scrollbars",
    "--metrics-recording-only",
    # A tab in the background must lay out and run its timers like one in front.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # A cached page keeps its process: 32 instead of 13 processes after some navigations.
    "--disable-back-forward-cache",
    "--disable-features=" + ",".join(_OFF),
)
# A window of its own size, and the screen that it fills.  Most pages fit into the tall one, so that what waits to be
# scrolled to is there from the start; a picture is to look as it does for people.
_TALL = (1280, 4096)
_USUAL = (1280, 1024)
_HEADED = (
    # A headless Chrome that was killed before is not the user's business.
    "--hide-crash-restore-bubble",
    # The window's end is to be the process's end.
    "--disable-background-mode",
)
# Flags that would take the browser out of our hands, by their beginnings, and why they are refused in
# browser.extra_args.
_PAST_THE_GUARD = "it decides how Chrome reaches the network, which is the guard's business"
_CONTROLLED = "it would let others control the browser, or ours lose it"
_UNSAFE = "it switches off what protects you from the pages"
_RESERVED = {
    "--proxy": _PAST_THE_GUARD,
    "--no-proxy": _PAST_THE_GUARD,
    "--winhttp-proxy": _PAST_THE_GUARD,
    "--host": _PAST_THE_GUARD,
    "--webrtc": _PAST_THE_GUARD,
    "--force-webrtc": _PAST_THE_GUARD,
    "--dns-over-https": _PAST_THE_GUARD,
    "--remote-debugging": _CONTROLLED,
    "--remote-allow": _CONTROLLED,
    "--user-data-dir": _CONTROLLED,
    "--profile-directory": _CONTROLLED,
    "--incognito": _CONTROLLED,
    "--guest": _CONTROLLED,
    "--headless": _CONTROLLED,
    "--enable-automation": _CONTROLLED,
    "--load-extension": _CONTROLLED,
    "--load-component-extension": _CONTROLLED,
    "--disable-extensions-except": _CONTROLLED,
    "--no-sandbox": _UNSAFE,
    "--disable-setuid-sandbox": _UNSAFE,
    "--disable-namespace-sandbox": _UNSAFE,
    "--disable-seccomp-filter-sandbox": _UNSAFE,
    "--disable-web-security": _UNSAFE,
    "--disable-site-isolation": _UNSAFE,
    "--ignore-certificate-errors": _UNSAFE,
    "--allow-file-access": _UNSAFE,
}
_DISABLE = "--disable-features="


def headless(
    executable: str,
    profile: str,
    *,
    no_sandbox: bool = False,
    version: str | None = None,
    locale: str | None = None,
    images: bool = False,
    extra: Sequence[str] = (),
    platform: str = "linux",
) -> list[str]:
    """The argument vector of the headless browser that the daemon drives.

    ``version`` (``"156.0.8078.114"``) gives the user agent without its headless token;
    ``images`` decides whether images are loaded at all, and so whether a picture of a page can be taken.
    """
    argv = [executable, *_HEADLESS, *_COMMON, f"--user-data-dir={profile}"]
    if version is not None:
        argv.append(f"--user-agent={user_agent(version, platform)}")
    if locale:
        argv += [f"--lang={locale}", f"--accept-lang={locale}"]
    width, height = _USUAL if images else _TALL
    argv += [f"--window-size={width},{height}", f"--screen-info={{{width}x{height}}}"]
    if not images:
        argv.append("--blink-settings=imagesEnabled=false")
    if no_sandbox:
        argv.append("--no-sandbox")
    return _merged([*argv, *extra])


def headed(
    executable: str,
    profile: str,
    *,
    no_sandbox: bool = False,
    locale: str | None = None,
    proxy: str | None = None,
    proxy_pac: str | None = None,
    url: str | None = None,
    extra: Sequence[str] = (),
) -> list[str]:
    """The argument vector of the window in which the user signs in.

    It has no debugging switch, since pages can see one and refuse to sign in; its cookies are those of ``headless``.
    ``proxy`` must hold no credentials: whoever lists the processes reads it.
    """
    argv = [executable, *_COMMON, *_HEADED, f"--user-data-dir={profile}"]
    if locale:
        argv += [f"--lang={locale}", f"--accept-lang={locale}"]
    if proxy:
        argv.append(f"--proxy-server={proxy}")
    if proxy_pac:
        argv.append(f"--proxy-pac-url={proxy_pac if '://' in proxy_pac else Path(proxy_pac).as_uri()}")
    if no_sandbox:
        argv.append("--no-sandbox")
    return [*argv, *extra, *([url] if url else [])]


def reserved(extra: Sequence[str]) -> dict[str, str]:
    """Those of the user's own flags that may not be given, because the daemon decides them, and why."""
    found: dict[str, str] = {}
    for flag in extra:
        if not flag.startswith("--") or not flag.strip("-"):
            found[flag] = "it is no flag of its own"  # a bare -- would end the flags, one dash is read as two
        for beginning, why in _RESERVED.items():
            if flag.startswith(beginning):
                found[flag] = why
    return found


def _merged(argv: Sequence[str]) -> list[str]:
    """The flags with what they disable in one list: of several, Chrome would take the last alone."""
    disabled = ",".join(flag.removeprefix(_DISABLE) for flag in argv if flag.startswith(_DISABLE))
    executable, *rest = [flag for flag in argv if not flag.startswith(_DISABLE)]
    return [executable, _DISABLE + disabled, *rest]


def user_agent(version: str, platform: str) -> str:
    """What a headed Chrome of this version announces (its reduced form: only the major version is true)."""
    system = "Macintosh; Intel Mac OS X 10_15_7" if platform == "darwin" else "X11; Linux x86_64"
    major = version.split(".", maxsplit=1)[0]
    return f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"
