"""Writing ``config.toml``: one key at a time, with the user's comments and order kept."""

from __future__ import annotations

import os

from cdpfetch import config
from cdpfetch.errors import ConfigError
from cdpfetch.paths import directory_error, ensure_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cdpfetch.paths import Home


def store(home: Home, key: str, text: str) -> None:
    """Set a dotted key to a value given as text; an empty text removes it.

    Raises ConfigError for an unknown key, a value that is not allowed, or a file that can't be read or written.
    """
    rule = config.rule_of(key)
    value = rule.check(key, rule.parse(key, text), "the command") if text.strip() else None
    config.read_file(home.config)
    import tomlkit

    try:
        with open(home.config, encoding="utf-8", newline="") as file:
            document = tomlkit.parse(file.read())
    except FileNotFoundError:
        document = tomlkit.document()
    *sections, name = key.split(".")
    table: Any = document
    for section in sections:
        if section not in table:
            table[section] = tomlkit.table()
        table = table[section]
    if value is None:
        table.pop(name, None)
    else:
        table[name] = list(value) if isinstance(value, tuple) else value
    replace_private(home.config, tomlkit.dumps(document))


def replace_private(path: str, text: str) -> None:
    """Write a file of the home beside its place (0600) and rename it.  Raises ConfigError."""
    ensure_private_dir(os.path.dirname(path))
    # A link to a file elsewhere stays a link.
    target = os.path.realpath(path)
    waiting = f"{target}.{os.getpid()}.new"
    try:
        fd = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.rename(waiting, target)
        except BaseException:
            os.unlink(waiting)
            raise
    except OSError as error:
        cause = directory_error(os.path.dirname(target), error)
        raise ConfigError(f"cannot write {target}: {error.strerror}", cause.hint) from error
