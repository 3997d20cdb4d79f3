"""The command and the library start fast: nothing third-party and nothing heavy is loaded before it is needed."""

import json
import os
import subprocess
import sys

import pytest

import cdpfetch

# Loaded by nothing on the way to a fetch.
HEAVY = {
    "asyncio",
    "dataclasses",
    "inspect",
    "subprocess",
    "tomllib",
    "http",
    "email",
    "urllib",
    "logging",
    "ssl",
    "typing",
}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(cdpfetch.__file__)))


def modules_after(code):
    """The modules that a fresh interpreter has loaded after ``code``, beyond those of its own start."""
    told = "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    script = f"import sys; before = set(sys.modules)\n{code}\n{told}"
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def third_party(modules):
    return {name for name in modules if name.partition(".")[0] not in {*sys.stdlib_module_names, "cdpfetch"}}


@pytest.mark.parametrize(
    "code",
    [
        "import cdpfetch",
        "import cdpfetch.cli",
        "import cdpfetch; cdpfetch.fetch; cdpfetch.Client; cdpfetch.FetchError",
        "import cdpfetch.cli.fetching",
        "import cdpfetch.cli.pages, cdpfetch.reading",
        "import cdpfetch.cli.daemons",
        "import cdpfetch.starting, cdpfetch.artifacts, cdpfetch.delivery",
    ],
)
def test_nothing_third_party_is_loaded(code):
    assert third_party(modules_after(code)) == set()


@pytest.mark.parametrize("code", ["import cdpfetch", "import cdpfetch.cli", "import cdpfetch.cli.fetching"])
def test_nothing_heavy_is_loaded(code):
    assert modules_after(code) & HEAVY == set()


def test_a_whole_warm_fetch_loads_nothing_heavy(fake):
    cdpfetch.fetch("fake:ok")
    loaded = modules_after("import cdpfetch.cli; cdpfetch.cli.main(['fetch', 'fake:ok'])")
    assert loaded & HEAVY == set()
    assert third_party(loaded) == set()
    assert "cdpfetch.starting" not in loaded
    assert "cdpfetch.artifacts" not in loaded


def test_every_public_name_is_there():
    for name in cdpfetch.__all__:
        assert getattr(cdpfetch, name) is not None
    assert set(cdpfetch.__all__) <= set(dir(cdpfetch))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cdpfetch.nothing


def test_public_names_are_what_they_say():
    from cdpfetch import api, client, document

    assert cdpfetch.fetch is api.fetch
    assert cdpfetch.Client is client.Client
    assert cdpfetch.Outcome is document.Outcome
    assert cdpfetch.__version__ == "0.1.0"
