"""What README.md says is so: verbs and options exist, codes, settings and names of the library are all there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import cdpfetch
from cdpfetch import cli, config
from cdpfetch.errors import CODES

ROOT = Path(cdpfetch.__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Sections of hosted services, which come with the fetchers that use them.
LATER = {"github", "llm", "search"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every command line of the shell blocks that runs cdpfetch."""
    lines = [line.split("#")[0] for block in blocks("sh") for line in block.splitlines()]
    return [line.partition("cdpfetch ")[2].strip() for line in lines if re.search(r"(^|\| )cdpfetch ", line)]


@pytest.mark.parametrize("command", commands())
def test_a_command_that_is_shown_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    verb = command.split(maxsplit=1)[0]
    assert verb in cli.VERBS
    with pytest.raises(SystemExit) as caught:
        cli.main([verb, "--help"])
    assert caught.value.code in (0, None)
    shown = capsys.readouterr().out
    for option in re.findall(r"(?<=\s)(--?[a-z-]+)", command):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", shown), option


def test_every_error_code_is_explained() -> None:
    (table,) = re.findall(r"^\| code \| what happened \|\n(.*?)\n\n", README, flags=re.MULTILINE | re.DOTALL)
    first_cells = [line.split("|")[1] for line in table.splitlines()[1:]]
    listed = [code for cell in first_cells for code in re.findall(r"`(\w+)`", cell)]
    assert sorted(listed) == sorted(CODES)


def test_every_setting_is_explained_and_none_is_invented() -> None:
    (table,) = re.findall(r"^\| setting \| default \|.*?\n(.*?)\n\n", README, flags=re.MULTILINE | re.DOTALL)
    first_cells = [line.split("|")[1] for line in table.splitlines()[1:]]
    listed = {key for cell in first_cells for key in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", cell)}
    assert listed <= set(config.KEYS)
    expected = {key for key in config.KEYS if key.split(".")[0] not in LATER}
    assert expected - listed <= {"fetch.challenge.headless_wait", "fetch.challenge.headed_wait"}


def test_the_librarys_names_exist() -> None:
    code = "\n".join(blocks("python"))
    ast.parse(code)
    used = set(re.findall(r"cdpfetch\.(\w+)", code)) | set(re.findall(r"`cdpfetch\.(\w+)`", README))
    packages = {"adapters", "cdp", "daemon", "extract"}
    assert used - packages <= set(cdpfetch.__all__)


@pytest.mark.parametrize("path", re.findall(r"`(scripts/[\w.]+)", README))
def test_a_path_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_documents_attributes_exist() -> None:
    used = set(re.findall(r"document\.(\w+)", "\n".join(blocks("python"))))
    assert used
    assert {name for name in used if not hasattr(cdpfetch.Document, name)} == set()
