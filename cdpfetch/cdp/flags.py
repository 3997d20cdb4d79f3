"""The command line of Chrome; pure."""

from __future__ import annotations

from collections.abc import Sequence

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
    "--window-size=1280,1024",
)
_HEADED = (
    # A headless Chrome that was killed before is not the user's business.
    "--hide-crash-restore-bubble",
    # The window's end is to be the process's end.
    "--disable-background-mode",
)
# Flags that would take the browser out of our hands; they are refused in browser.extra_args.
_RESERVED = (
    "--user-data-dir",
    "--remote-debugging",
    "--headless",
    "--no-sandbox",
    "--proxy",
    "--no-proxy",
    "--winhttp-proxy",
    "--host-resolver-rules",
    "--host-rules",
    "--webrtc-ip-handling-policy",
    "--force-webrtc-ip-handling-policy",
    "--load-extension",
    "--disable-extensions-except",
    "--enable-automation",
    "--disable-web-security",
)


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
    ``images`` decides whether images are loaded at all.
    """
    argv = [executable, *_HEADLESS, *_COMMON, f"--user-data-dir={profile}"]
    if version is not None:
        argv.append(f"--user-agent={user_agent(version, platform)}")
    if locale:
        argv += [f"--lang={locale}", f"--accept-lang={locale}"]
    if not images:
        argv.append("--blink-settings=imagesEnabled=false")
    if no_sandbox:
        argv.append("--no-sandbox")
    return [*argv, *extra]


def headed(
    executable: str,
    profile: str,
    *,
    no_sandbox: bool = False,
    locale: str | None = None,
    proxy: str | None = None,
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
    if no_sandbox:
        argv.append("--no-sandbox")
    return [*argv, *extra, *([url] if url else [])]


def reserved(extra: Sequence[str]) -> list[str]:
    """Those of the user's own flags that may not be given, because the daemon decides them."""
    return [flag for flag in extra if flag.startswith(_RESERVED)]


def user_agent(version: str, platform: str) -> str:
    """What a headed Chrome of this version announces (its reduced form: only the major version is true)."""
    system = "Macintosh; Intel Mac OS X 10_15_7" if platform == "darwin" else "X11; Linux x86_64"
    major = version.split(".", maxsplit=1)[0]
    return f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"
