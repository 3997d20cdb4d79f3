"""The providers by name, and what each is made of."""

from __future__ import annotations

import os
from importlib import import_module
from typing import NamedTuple, cast

from cdpfetch.errors import ConfigError
from cdpfetch.search.contract import Provider, Setup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cdpfetch.config import Config


class Known(NamedTuple):
    """Where a provider is, the variables that may hold its key (the first that is set counts), and if it needs one."""

    module: str
    kind: str
    variables: tuple[str, ...]
    needs_key: bool = True


PROVIDERS = {
    "openai": Known("openai", "OpenAI", ("OPENAI_API_KEY",)),
    "openai+summary": Known("summary", "OpenAISummary", ("OPENAI_API_KEY",)),
    "exa": Known("exa", "Exa", ("EXA_API_KEY",)),
    "parallel": Known("parallel", "Parallel", ("PARALLEL_API_KEY",)),
    "brave": Known("brave", "Brave", ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY")),
    "searxng": Known("searxng", "Searxng", (), needs_key=False),
}
_HINT = "cdpfetch config set search.provider NAME, and search.api_key KEY; names: " + ", ".join(PROVIDERS)


def is_configured(config: Config) -> bool:
    """Whether a provider is chosen."""
    return config.search.provider is not None


def open_provider(config: Config, environ: Mapping[str, str] | None = None) -> Provider:
    """The chosen provider.  Raises ConfigError: none is chosen, or something that it needs is not set."""
    environ = os.environ if environ is None else environ
    name = config.search.provider
    if name is None:
        raise ConfigError("no search provider is chosen", _HINT)
    known = PROVIDERS[name]
    key = _key(config, known, environ)
    if key is None and known.needs_key:
        places = " or ".join((*known.variables, "search.api_key"))
        raise ConfigError(f"{name} needs a key: set {places}", "cdpfetch config set search.api_key KEY")
    kind = getattr(import_module(f"cdpfetch.search.{known.module}"), known.kind)
    return cast(Provider, kind(Setup(config, key, environ)))


def commands_of(config: Config) -> frozenset[str]:
    """The commands of the chosen provider.  Raises ConfigError when none is chosen."""
    if config.search.provider is None:
        raise ConfigError("no search provider is chosen", _HINT)
    known = PROVIDERS[config.search.provider]
    kind = getattr(import_module(f"cdpfetch.search.{known.module}"), known.kind)
    return cast("frozenset[str]", kind.commands)


def _key(config: Config, known: Known, environ: Mapping[str, str]) -> str | None:
    """The key: an environment variable, else the setting.  Raises ConfigError for one that no header can hold.

    Where the settings name another address and a key for it, that key is meant, and not the service's own.
    """
    found = config.search.api_key
    if config.search.base_url is None or found is None:
        found = next((environ[name] for name in known.variables if environ.get(name)), found)
    found = (found or "").strip()
    if found and not (found.isascii() and found.isprintable()):
        raise ConfigError("the key for the search has characters that no key has", "set search.api_key anew")
    return found or None
