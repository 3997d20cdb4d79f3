"""The skill: a guide for agents that read files of skills (``SKILL.md`` with a name and a description at its head)."""

from __future__ import annotations

import os

NAME = "cdpfetch"
"""The name of the skill, which is that of the directory it goes into."""
FILE = "SKILL.md"


def read() -> str:
    """The text of the skill."""
    with open(os.path.join(os.path.dirname(__file__), FILE), encoding="utf-8") as file:
        return file.read()
