"""A project's settings: followed after the user said so, as they were then, and for search and models alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cdpfetch import project
from cdpfetch.errors import ConfigError
from cdpfetch.paths import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


@pytest.fixture
def below(tmp_path: Path) -> str:
    """A directory inside a project whose settings choose a provider."""
    inside = tmp_path / "checkout" / "src" / "deep"
    inside.mkdir(parents=True)
    write(tmp_path, '[search]\nprovider = "brave"\nbase_url = "https://b.example"\n')
    return str(inside)


def write(root: Path, text: str) -> None:
    directory = root / "checkout" / ".cdpfetch"
    directory.mkdir(exist_ok=True)
    (directory / "config.toml").write_text(text)


def test_nothing_is_followed_before_it_is_trusted(home: Home, below: str) -> None:
    assert project.load(home, {}, below).search.provider is None
    found = project.find(home, below)
    assert found is not None and not found.trusted


def test_what_is_trusted_goes_before_the_home_and_after_the_environment(home: Home, below: str) -> None:
    os.makedirs(home.root, 0o700)
    Path(home.config).write_text('[search]\nprovider = "exa"\nmodel = "m"\n')
    assert project.trust(home, below).trusted
    made = project.load(home, {}, below).search
    assert (made.provider, made.base_url, made.model) == ("brave", "https://b.example", "m")
    origins = {one.key: one.origin for one in project.settings(home, {}, below)}
    assert origins["search.provider"].endswith("checkout/.cdpfetch/config.toml")
    assert origins["search.model"] == "config.toml"
    assert project.load(home, {"CDPFETCH_SEARCH_PROVIDER": "parallel"}, below).search.provider == "parallel"
    assert os.stat(os.path.join(home.root, "trusted.json")).st_mode & 0o777 == 0o600


def test_changed_it_must_be_trusted_anew(home: Home, below: str, tmp_path: Path) -> None:
    project.trust(home, below)
    write(tmp_path, '[search]\nprovider = "exa"\nbase_url = "https://evil.example"\n')
    assert project.load(home, {}, below).search.base_url is None
    project.trust(home, below)
    assert project.load(home, {}, below).search.base_url == "https://evil.example"


@pytest.mark.parametrize(
    "text",
    ['[network]\nallow = ["127.0.0.1"]\n', '[browser]\nproxy = "http://x.example"\n', "[fetch]\ntabs = 1\n"],
)
def test_a_project_opens_nothing(home: Home, below: str, tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=r"a project decides about \[search\] and \[llm\] alone"):
        project.trust(home, below)


def test_a_wrong_value_is_not_trusted(home: Home, below: str, tmp_path: Path) -> None:
    write(tmp_path, '[search]\nprovider = "nobody"\n')
    with pytest.raises(ConfigError, match="nobody"):
        project.trust(home, below)


def test_without_a_project_there_is_nothing_to_trust(home: Home, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        project.trust(home, str(tmp_path))


def test_the_homes_own_file_is_no_project(tmp_path: Path) -> None:
    home = Home(str(tmp_path / ".cdpfetch"))
    os.makedirs(home.root, 0o700)
    Path(home.config).write_text('[search]\nprovider = "exa"\n')
    assert project.find(home, str(tmp_path)) is None


def test_a_spoilt_record_trusts_nothing(home: Home, below: str) -> None:
    project.trust(home, below)
    Path(home.root, "trusted.json").write_text("{")
    assert project.load(home, {}, below).search.provider is None
