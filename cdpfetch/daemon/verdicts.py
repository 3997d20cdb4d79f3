"""What a page that came really is: the page that was wanted, or a wall, a sign-in page, an error in disguise.  Pure."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple
from urllib.parse import urlsplit

from cdpfetch.cdp.capture import Capture, Signals
from cdpfetch.cdp.landing import Landing, ResponseHead
from cdpfetch.errors import CdpFetchError

# A page with more text than this (visible characters) is content, whatever else it shows.
_WALL_TEXT = 1500
_LOGIN_TEXT = 1200
_ERROR_TEXT = 1500
_THIN_TEXT = 200

# With these a wall refuses (428: Akamai's); 401 only with other signs.
WALL_STATUS = frozenset({401, 403, 405, 406, 428, 429, 503})
# Vendors that put their marks on ordinary pages too (a captcha in a form): only with another sign.
_WEAK_WALLS = frozenset({"turnstile", "hcaptcha", "recaptcha", "awswaf"})
# Response headers by which a wall says that it is one: name -> value pattern.
_WALL_HEADERS = {
    "cf-mitigated": re.compile("challenge", re.IGNORECASE),
    "x-amzn-waf-action": re.compile("challenge|captcha", re.IGNORECASE),
    "x-datadome": re.compile("protected", re.IGNORECASE),
    "x-vercel-mitigated": re.compile("challenge", re.IGNORECASE),
    "x-dd-b": re.compile(r"\d"),
    "x-kpsdk-ct": re.compile("."),
}
# Those that come with ordinary answers, too.
_WEAK_HEADERS = frozenset({"x-datadome", "x-dd-b", "x-kpsdk-ct"})
_WALL_WORDS = re.compile(
    r"verify(ing)? (that )?you are (a )?human|checking (if the site connection is secure|your browser)"
    r"|just a moment|enable javascript and cookies to continue|are you a (robot|human)|not a robot"
    r"|unusual (traffic|activity)|security (check|verification)|ddos protection|attention required"
    r"|complete the (captcha|challenge)|bot (detection|protection|verification)|automated (access|requests|queries)"
    r"|pardon our interruption|access to this page has been denied|press (&|and) hold|waiting room|human verification"
    r"|prove (that )?you are (not a robot|human)|please wait while we (verify|check)|making sure you.re not a bot",
    re.IGNORECASE,
)
_LOGIN_WORDS = re.compile(
    r"\b(sign|log)[ -]?(in|on|into)\b|\blogin\b|\bauthenticat|\bsso\b|members? (only|area)"
    r"|enter your (password|e-?mail)|anmelden|einloggen|se connecter|connexion|identif(iez|iant)"
    r"|iniciar sesi|inicia sesi|acceder|accedi|entrar"
    r"|inloggen|logga in|zaloguj|войти|вход|登录|登入|ログイン|サインイン|로그인|تسجيل الدخول|giriş yap",
    re.IGNORECASE,
)
_LOGIN_PATH = re.compile(
    r"(^|[/_.-])(log-?in|sign-?in|signon|sso|auth|authenticate|authorize|oauth2?|saml2?|cas|sessions?/new)"
    r"([/_.?-]|$)",
    re.IGNORECASE,
)
_MISSING_WORDS = re.compile(
    r"^\W*(error\W*)?(404|410)\b|\berror (404|410)\b|(page|file|document|article|resource)"
    r"\b.{0,25}\b(not found|(could ?n.t|can ?not|can.t) be found|does(n.t| not) exist|no longer (exists|available)"
    r"|(is|was) (missing|gone|removed|deleted)|unavailable)|^not found|nothing (was )?found here"
    r"|we (could ?n.t|can.t) find"
    r"|seite (wurde )?nicht gefunden|page introuvable|p[aá]gina no encontrada|p[aá]gina n[aã]o encontrada"
    r"|pagina non trovata|pagina niet gevonden|страница не найдена|ページが見つかりません"
    r"|页面不存在|找不到(该|此)?页面",
    re.IGNORECASE,
)
_FAILED_WORDS = re.compile(
    r"^(50\d\b|internal server error|service unavailable|bad gateway|gateway time-?out|application error"
    r"|an? (unexpected )?error (has )?occurred|something went wrong|database error|fatal error)",
    re.IGNORECASE,
)


class Verdict(NamedTuple):
    """The word on a page (the document's ``verdict``), with the error where it fails the fetch, else a warning."""

    word: str
    error: CdpFetchError | None = None
    warning: tuple[str, str] | None = None


def judge(head: ResponseHead | None, taken: Capture, wanted: str, *, recovered: bool = False) -> Verdict:
    """The word on a page that was taken for the URL ``wanted``; the status of 400 and more is judged elsewhere.

    ``recovered``: its content was found in the data that it carries, so that showing little is no fault.
    """
    seen = taken.signals
    wall = wall_of(head, taken)
    if wall is not None:
        return Verdict("challenge", challenge(taken.url, wall, head))
    if _is_login(head, taken, wanted):
        site = _site(taken.url)
        reason = f"the page is a sign-in page at {site}"
        if _differs(taken.url, wanted):
            reason += f", reached from {wanted}"
        return Verdict(
            "login_required", CdpFetchError("login_required", reason, f"sign in once: {window_command(wanted)}")
        )
    said = _error_said(taken)
    if said is not None:
        return Verdict("error_page", warning=("soft_error", f"the status is 200, yet the page says: {said}"))
    if not recovered and seen.text < _THIN_TEXT and seen.scripted and taken.visible < _THIN_TEXT:
        return Verdict(
            "thin", warning=("thin", f"the page shows only {taken.visible} characters; it may need more time")
        )
    return Verdict("ok")


def window_command(url: str) -> str:
    """The command that shows a page to the user, to be pasted into a shell."""
    return f"cdpfetch open-browser {shlex.quote(url)}"


def wall_of(head: ResponseHead | None, taken: Capture) -> str | None:
    """Who or what says that this is a bot wall, or None: its header first, then its marks, then its words."""
    seen = taken.signals
    told = wall_header(head)
    if told is not None or seen.text > _WALL_TEXT:
        return told
    refused = _refuses(head)
    words = _WALL_WORDS.search(f"{taken.title} {seen.head}")
    strong = [vendor for vendor in seen.walls if vendor not in _WEAK_WALLS]
    if strong and (refused or words or seen.text < _THIN_TEXT):
        return f"the marks of {strong[0]}"
    if seen.walls and (refused or words) and not seen.passwords:
        return f"the marks of {seen.walls[0]}"
    if words and (
        refused or (seen.text < 600 and seen.scripted and _WALL_WORDS.search(f"{taken.title} {seen.heading}"))
    ):
        return f"the words {words[0]!r}"
    return None


def wall_header(head: ResponseHead | None) -> str | None:
    """The header by which an answer says that it is a bot wall, or None."""
    for name, pattern in _WALL_HEADERS.items() if head is not None else ():
        value = head.header(name) if head is not None else None
        if value is not None and pattern.search(value) and (name not in _WEAK_HEADERS or _refuses(head)):
            return f"the header {name}: {value[:80]}"
    return None


def wall_at(landing: Landing) -> str | None:
    """Who or what says that a visit has ended at a bot wall, or None."""
    return wall_header(landing.head) if landing.capture is None else wall_of(landing.head, landing.capture)


def _refuses(head: ResponseHead | None) -> bool:
    return head is not None and head.status in WALL_STATUS


def challenge(url: str, wall: str, head: ResponseHead | None) -> CdpFetchError:
    """The error for a wall that did not clear."""
    status = f" (HTTP {head.status})" if head is not None else ""
    return CdpFetchError(
        "challenge",
        f"a bot challenge stands before the page{status}, told by {wall}",
        f"pass it once by hand: {window_command(url)}",
    )


def _is_login(head: ResponseHead | None, taken: Capture, wanted: str) -> bool:
    """A page whose business is to sign in: a field for it, little else, and words or an address that say so."""
    seen = taken.signals
    if not (seen.passwords or seen.names):
        return False
    beside = seen.text - seen.form_text
    if seen.text > _LOGIN_TEXT or beside > max(400, 3 * seen.form_text):
        return False
    words = bool(_LOGIN_WORDS.search(f"{taken.title} {seen.heading}"))
    path = bool(_LOGIN_PATH.search(urlsplit(taken.url).path))
    moved = _differs(taken.url, wanted)
    if seen.passwords == 1:
        return words or (path and moved) or (head is not None and head.status in (401, 403))
    # Two password fields are a registration or a change; none is the first step of a sign-in, or a newsletter.
    return words and (path or moved)


def _error_said(taken: Capture) -> str | None:
    """What an error page with a good status says, or None: short, and its title or heading says it."""
    seen: Signals = taken.signals
    if seen.text > _ERROR_TEXT:
        return None
    for text in (seen.heading, " ".join(taken.title.split()), seen.head[:80] if seen.text < 400 else ""):
        if text and (_MISSING_WORDS.search(text) or _FAILED_WORDS.search(text)):
            return text[:120]
    return None


def _differs(url: str, wanted: str) -> bool:
    """Whether two addresses name different documents."""
    one, other = urlsplit(url), urlsplit(wanted)
    return (one.netloc, one.path.rstrip("/")) != (other.netloc, other.path.rstrip("/"))


def _site(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
