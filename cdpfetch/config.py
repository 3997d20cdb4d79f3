"""The settings: ``config.toml`` of the home, then ``CDPFETCH_<SECTION>_<KEY>`` from the environment.

An unknown key or a value that is not allowed is an error that names the key, the value and what is allowed;
nothing is ignored in silence.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from cdpfetch.errors import ConfigError
from cdpfetch.rules import Choice, Flag, Location, Network, Number, Path, Rule, Text, Texts, Whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cdpfetch.paths import Home

PREFIX = "CDPFETCH_"
CHROME_VARIABLE = "CDPFETCH_CHROME"
CONFIGURED = "[configured]"
_MAX_FILE = 1 << 20


class Browser(NamedTuple):
    """``[browser]``: which Chrome, and how it is started."""

    executable_path: str | None = None
    profile_dir: str | None = None
    sandbox: str = "auto"
    extra_args: tuple[str, ...] = ()
    headless_idle: float = 60.0
    locale: str | None = None
    proxy: str | None = None
    proxy_pac: str | None = None
    cdp_url: str | None = None


class Fetch(NamedTuple):
    """``[fetch]``: limits of a fetch (seconds, bytes) and of the daemon's idling (seconds)."""

    tabs: int = 6
    navigation_timeout: float = 15.0
    deadline: float = 60.0
    settle_max: float = 5.0
    max_bytes: int = 104857600
    daemon_idle: float = 300.0
    force_local: tuple[str, ...] = ()
    accept_markdown: bool = False
    profile_sites: tuple[str, ...] = ()


class Challenge(NamedTuple):
    """``[fetch.challenge]``: what happens at a bot wall (seconds)."""

    escalation: str = "headed"
    headless_wait: float = 10.0
    headed_wait: float = 20.0


class NetworkAccess(NamedTuple):
    """``[network]``: hosts, host:port, *.suffix and CIDRs that may be reached though private, or never; whether
    http addresses are tried by https first; whether only known addresses are fetched, and which are from the
    start; a PEM file of authorities that are believed beside the usual ones.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    https_upgrade: bool = False
    require_known_url: bool = False
    known_urls: tuple[str, ...] = ()
    ca_bundle: str | None = None


class Artifacts(NamedTuple):
    """``[artifacts]``: how long documents stay, how much of them and how much free disk beside them (10^6 bytes)."""

    max_age_days: float = 7.0
    max_total_mb: float = 1024.0
    keep_page: bool = True
    min_free_mb: float = 100.0


class Parallel(NamedTuple):
    """``[parallel]``: a hosted extraction service."""

    api_key: str | None = None
    base_url: str | None = None


class Jina(NamedTuple):
    """``[jina]``: a hosted reader, off unless enabled."""

    enabled: bool = False
    api_key: str | None = None
    base_url: str | None = None


class Github(NamedTuple):
    """``[github]``: the REST API."""

    token: str | None = None
    api_url: str | None = None


class Llm(NamedTuple):
    """``[llm]``: the OpenAI-compatible endpoint that answers ``--prompt``."""

    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    max_tokens: int = 1024


class Search(NamedTuple):
    """``[search]``: the service behind ``cdpfetch search``."""

    provider: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None


class Config(NamedTuple):
    """All sections; each default is the documented one."""

    browser: Browser = Browser()
    fetch: Fetch = Fetch()
    challenge: Challenge = Challenge()
    network: NetworkAccess = NetworkAccess()
    artifacts: Artifacts = Artifacts()
    parallel: Parallel = Parallel()
    jina: Jina = Jina()
    github: Github = Github()
    llm: Llm = Llm()
    search: Search = Search()


class Setting(NamedTuple):
    """One setting as the command shows it: ``origin`` is ``default``, ``config.toml`` or a variable's name."""

    key: str
    value: Any
    default: Any
    origin: str
    rule: Rule


_URL = Text("http", "https")
_SECRET = Text(secret=True)
_SECONDS = Number(0.1, 86400)
_PROVIDERS = ("openai", "openai+summary", "exa", "parallel", "brave", "searxng")
# Section as written in the file -> key -> rule.  The attribute of Config is the section's last part.
RULES: dict[str, dict[str, Rule]] = {
    "browser": {
        "executable_path": Path(),
        "profile_dir": Path(),
        "sandbox": Choice("auto", "require"),
        "extra_args": Texts("--"),
        "headless_idle": Number(0, 86400),
        "locale": Text(),
        "proxy": Text("http", "https", "socks5"),
        "proxy_pac": Location(),
        "cdp_url": Text("ws", "wss", "http", "https"),
    },
    "fetch": {
        "tabs": Whole(1, 32),
        "navigation_timeout": _SECONDS,
        "deadline": _SECONDS,
        "settle_max": Number(0, 600),
        "max_bytes": Whole(1, 1 << 40),
        "daemon_idle": Number(1, 864000),
        "force_local": Texts(),
        "accept_markdown": Flag(),
        "profile_sites": Texts(),
    },
    "fetch.challenge": {
        "escalation": Choice("headed", "never"),
        "headless_wait": Number(0, 600),
        "headed_wait": Number(0, 600),
    },
    "network": {
        "allow": Network(),
        "deny": Network(),
        "https_upgrade": Flag(),
        "require_known_url": Flag(),
        "known_urls": Texts("http"),
        "ca_bundle": Path(),
    },
    "artifacts": {
        "max_age_days": Number(0, 36500),
        "max_total_mb": Number(0, 1e9),
        "keep_page": Flag(),
        "min_free_mb": Number(0, 1e9),
    },
    "parallel": {"api_key": _SECRET, "base_url": _URL},
    "jina": {"enabled": Flag(), "api_key": _SECRET, "base_url": _URL},
    "github": {"token": _SECRET, "api_url": _URL},
    "llm": {
        "base_url": _URL,
        "model": Text(),
        "api_key": _SECRET,
        "api_key_env": Text(),
        "max_tokens": Whole(1, 1_000_000),
    },
    "search": {"provider": Choice(*_PROVIDERS), "base_url": _URL, "model": Text(), "api_key": _SECRET},
}
KEYS: dict[str, Rule] = {f"{section}.{key}": rule for section, rules in RULES.items() for key, rule in rules.items()}


def load(home: Home, environ: Mapping[str, str] | None = None) -> Config:
    """The settings of a home.  A missing file means the defaults.  Raises ConfigError."""
    return built(settings(home, environ))


def built(found: list[Setting]) -> Config:
    """The settings by section."""
    values = {setting.key: setting.value for setting in found}
    config = Config()
    for section, rules in RULES.items():
        attribute = section.rpartition(".")[2]
        part = getattr(config, attribute)
        config = config._replace(**{attribute: part._replace(**{key: values[f"{section}.{key}"] for key in rules})})
    return config


def settings(
    home: Home, environ: Mapping[str, str] | None = None, project: tuple[dict[str, Any], str] | None = None
) -> list[Setting]:
    """Every setting with its value and where that comes from, in the documented order.  Raises ConfigError.

    ``project``: dotted keys that go before those of the home, and the file that they are from.
    """
    written = flatten(read_file(home.config), home.config)
    own, own_path = project or ({}, "")
    given = _from_environment(os.environ if environ is None else environ)
    found: list[Setting] = []
    for key, rule in KEYS.items():
        value, origin = default(key), "default"
        if key in written:
            value, origin = rule.check(key, written[key], home.config), "config.toml"
        if key in own:
            value, origin = rule.check(key, own[key], own_path), own_path
        if key in given:
            origin, text = given[key]
            value = rule.check(key, rule.parse(key, text), origin)
        found.append(Setting(key, value, default(key), origin, rule))
    return found


def default(key: str) -> Any:
    """The default of a dotted key."""
    section, _, name = key.rpartition(".")
    return getattr(getattr(Config(), section.rpartition(".")[2]), name)


def rule_of(key: str) -> Rule:
    """The rule of a dotted key.  Raises ConfigError naming what exists."""
    try:
        return KEYS[key]
    except KeyError:
        raise unknown(key, "") from None


def unknown(key: str, where: str) -> ConfigError:
    """The error for a key that does not exist; names the keys of its section, or the sections."""
    section = key.rpartition(".")[0]
    known = list(RULES[section]) if section in RULES else list(RULES)
    kind = f"keys of [{section}]" if section in RULES else "sections"
    return ConfigError(f"unknown setting {key}" + (f" in {where}" if where else ""), f"{kind}: {', '.join(known)}")


def variable_of(key: str) -> str:
    """The environment variable that overrides a dotted key."""
    return PREFIX + key.replace(".", "_").upper()


def read_file(path: str) -> dict[str, Any]:
    """The tables of a config file; empty when there is none.  Raises ConfigError with the line of a syntax error."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_FILE + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "make it a file that you can read") from error
    if len(data) > _MAX_FILE:
        raise ConfigError(f"{path} is larger than {_MAX_FILE} bytes", "it should hold a few settings")
    return parsed(data, path)


def parsed(data: bytes, path: str) -> dict[str, Any]:
    """The tables of a config file's bytes.  Raises ConfigError with the line of a syntax error."""
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}", "correct it with an editor") from error


def flatten(tables: dict[str, Any], path: str, section: str = "") -> dict[str, Any]:
    """Dotted keys of nested tables."""
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        key = f"{section}.{name}" if section else name
        if isinstance(value, dict) and key not in KEYS:
            if not any(known == key or known.startswith(key + ".") for known in RULES):
                raise unknown(key, path)
            flat.update(flatten(value, path, key))
        elif key in KEYS:
            flat[key] = value
        elif key in RULES:
            raise ConfigError(f"{key} in {path} is {value!r}, wanted a table", f"write [{key}] and its keys below it")
        else:
            raise unknown(key, path)
    return flat


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Dotted key -> (variable, text).  A variable of ours with a section's name but no such key is an error."""
    names = {variable_of(key): key for key in KEYS}
    given: dict[str, tuple[str, str]] = {}
    if environ.get(CHROME_VARIABLE):
        given["browser.executable_path"] = (CHROME_VARIABLE, environ[CHROME_VARIABLE])
    sections = tuple(PREFIX + section.replace(".", "_").upper() + "_" for section in RULES)
    for variable, text in environ.items():
        if variable in names:
            given[names[variable]] = (variable, text)
        elif variable.startswith(sections):
            near = [name for name in names if name.startswith("_".join(variable.split("_")[:2]) + "_")]
            raise ConfigError(f"unknown variable {variable}", "known: " + ", ".join(near))
    return given
