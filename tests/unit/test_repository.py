"""The repository itself: one version, a clean lock, dependencies as imported, scripts that run, a whole wheel."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import twins

import cdpfetch
from cdpfetch import _version

ROOT = Path(cdpfetch.__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE = sorted(path for path in (ROOT / "cdpfetch").rglob("*.py"))
LOCKS = ["runtime", "test"]
SCRIPTS = ["scripts/check", "scripts/lock", "scripts/quickstart", "scripts/setup", "scripts/test", ".ci/run"]

# Declared for others' sake: trafilatura 2.3 fails to import without it.
NOT_IMPORTED = {"lxml-html-clean"}
# Which part of the package may import what; a part is a module or a package.
OWNERS = {
    "agents": {"adapters"},
    "ada_url": {"policy", "urls", "daemon"},
    "charset_normalizer": {"extract"},
    "dukpy": {"daemon"},
    "httpcore": {"daemon", "httpclient", "httperrors"},
    "httpx": {"daemon", "fetchers", "httpclient", "httperrors", "httpproxies"},
    "jsonschema": {"adapters", "search"},
    "kreuzberg": {"extract"},
    "pypdfium2": {"extract"},
    "langchain_core": {"adapters"},
    "llama_index": {"adapters"},
    "mcp": {"adapters"},
    "mcp_types": {"adapters"},
    "lxml": {"extract"},
    "pydantic_ai": {"adapters"},
    "fsspec": {"adapters"},
    "protego": {"batch"},
    "pyarrow": {"batch"},
    "ray": {"adapters"},
    "publicsuffixlist": {"daemon"},
    "tomlkit": {"adapters", "configfile"},
    "readability": {"extract"},
    "trafilatura": {"extract"},
    "uvicorn": {"adapters"},
    "websockets": {"cdp"},
}


def normal(name: str) -> str:
    """A distribution's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[object]) -> set[str]:
    """The distributions that requirement strings name; included groups are followed."""
    found: set[str] = set()
    for requirement in requirements:
        if isinstance(requirement, dict):
            found |= names(PROJECT["dependency-groups"][requirement["include-group"]])
        else:
            match = re.match(r"[A-Za-z0-9._-]+", str(requirement))
            assert match
            found.add(normal(match[0]))
    return found


def run_time_imports(path: Path) -> Iterator[str]:
    """The top-level names of what a module imports, lazily or not, except for types only."""

    def walk(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.level == 0:
                yield (child.module or "").partition(".")[0]
            yield from walk(child)

    return walk(ast.parse(path.read_text(encoding="utf-8")))


def third_party() -> dict[str, set[str]]:
    """Import name -> the parts of the package that import it."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE:
        part = path.relative_to(ROOT / "cdpfetch").parts[0].removesuffix(".py")
        for name in run_time_imports(path):
            if name not in sys.stdlib_module_names and name not in ("cdpfetch", "__future__"):
                found.setdefault(name, set()).add(part)
    return found


def test_the_version_is_one() -> None:
    assert PROJECT["project"]["version"] == _version.__version__


def test_the_top_level_holds_only_what_the_design_names() -> None:
    allowed = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "cdpfetch", "tests", "scripts"}
    ignored = {"build", "dist", "__pycache__"}  # by .gitignore
    found = {name for name in os.listdir(ROOT) if not name.startswith(".") and not name.endswith(".egg-info")}
    assert found - ignored == allowed


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_names_no_host_and_no_path(lock: str) -> None:
    text = (ROOT / "scripts" / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash)", text, flags=re.MULTILINE)
    assert not re.search(r"(^|\s)[/~]", text, flags=re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_version_and_hashes(lock: str) -> None:
    text = (ROOT / "scripts" / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    entries = re.findall(r"^[A-Za-z0-9].*(?:\n +.*)*", text, flags=re.MULTILINE)
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+==[^\s;]+( ; [^\\]+)? \\\n +--hash=sha256:[0-9a-f]{64}", entry), entry


def test_the_locks_hold_what_the_project_declares() -> None:
    locked = {}
    for lock in LOCKS:
        text = (ROOT / "scripts" / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        locked[lock] = {normal(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}
    declared = names(PROJECT["project"]["dependencies"])
    groups = PROJECT["dependency-groups"]
    assert declared | names(groups["build"]) <= set(locked["runtime"])
    assert declared | names(groups["build"] + groups["test"] + groups["lint"]) <= set(locked["test"])
    assert {name: locked["test"].get(name) for name in locked["runtime"]} == locked["runtime"]


def test_declared_dependencies_are_those_that_are_imported() -> None:
    distributions = metadata.packages_distributions()
    optional = names([one for extra in PROJECT["project"]["optional-dependencies"].values() for one in extra])
    needed = names(PROJECT["project"]["dependencies"])
    imported: set[str] = set()
    for name in third_party():
        found = {normal(distribution) for distribution in distributions[name]}
        # Of distributions that share a name space, the one that is declared.
        imported |= found & (optional | needed) or found
    assert imported - (optional - needed) == needed - NOT_IMPORTED


def test_each_dependency_stays_in_its_part() -> None:
    strays = {name: parts - OWNERS.get(name, set()) for name, parts in third_party().items()}
    assert {name: parts for name, parts in strays.items() if parts} == {}


def test_every_module_has_its_layer() -> None:
    (layers,) = [c["layers"] for c in PROJECT["tool"]["importlinter"]["contracts"] if c["id"] == "layers"]
    listed = set(re.findall(r"cdpfetch\.(\w+)", " ".join(layers)))
    parts = {path.relative_to(ROOT / "cdpfetch").parts[0].removesuffix(".py") for path in PACKAGE}
    assert parts - {"__init__", "_version"} <= listed


def test_nothing_is_left_for_later() -> None:
    word = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    assert [path.name for path in PACKAGE if word.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_says_what_it_does_and_stops_at_errors(script: str) -> None:
    path = ROOT / script
    lines = path.read_text(encoding="utf-8").splitlines()
    assert os.access(path, os.X_OK)
    assert lines[0] == "#!/usr/bin/env bash"
    assert lines[1].startswith("# ")
    assert "set -euo pipefail" in lines
    subprocess.run(["bash", "-n", str(path)], check=True)


def build(root: Path, kind: str, output: Path, **environment: str) -> Path:
    """What the backend makes of a tree: a ``wheel``, an ``editable`` one or an ``sdist``."""
    code = f"import sys, hatchling.build; print(hatchling.build.build_{kind}(sys.argv[1]))"
    command = [sys.executable, "-P", "-c", code, str(output)]
    environ = {**os.environ, **environment}
    done = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output / done.stdout.split()[-1]


def packed(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


DATA = f"cdpfetch-{_version.__version__}.data"
INFO = f"cdpfetch-{_version.__version__}.dist-info"


def test_the_wheel_holds_the_typed_package_and_its_command(tmp_path: Path) -> None:
    wheel = build(ROOT, "wheel", tmp_path, CDPFETCH_NATIVE="0")
    assert wheel.name == f"cdpfetch-{_version.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert "cdpfetch = cdpfetch.cli:main" in archive.read(f"{INFO}/entry_points.txt").decode()
        assert "Root-Is-Purelib: true" in archive.read(f"{INFO}/WHEEL").decode()
    content = packed(wheel)
    assert "cdpfetch/py.typed" in content
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "cdpfetch").rglob("*") if path.is_file()}
    assert {name for name in content if name.startswith("cdpfetch/") and not name.endswith("/")} == {
        name for name in sources if "__pycache__" not in name and not name.startswith("cdpfetch/native/")
    }
    assert {name.partition("/")[0] for name in content} == {"cdpfetch", INFO}


def test_the_wheel_has_cdpf_where_there_is_a_compiler(tmp_path: Path) -> None:
    twins.build(tmp_path / "cdpf")  # skips without one
    first, second, editable = (tmp_path / name for name in ("first", "second", "editable"))
    wheel = build(ROOT, "wheel", first)
    platform = re.sub(r"\W", "_", sysconfig.get_platform())
    assert wheel.name == f"cdpfetch-{_version.__version__}-py3-none-{platform}.whl"
    assert packed(wheel) - packed(build(ROOT, "wheel", second, CDPFETCH_NATIVE="0")) == {f"{DATA}/scripts/cdpf"}
    assert f"{DATA}/scripts/cdpf" in packed(build(ROOT, "editable", editable))
    with zipfile.ZipFile(wheel) as archive:
        (program,) = [one for one in archive.infolist() if one.filename.endswith("/cdpf")]
        assert program.external_attr >> 16 & 0o111 == 0o111
        assert str(ROOT).encode() not in archive.read(program)
    assert f"{DATA}/scripts/cdpf" not in packed(build(ROOT, "wheel", second, CC="/nowhere/cc"))


def test_the_source_distribution_makes_the_same_wheel(tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, "sdist", tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    tree = tmp_path / f"cdpfetch-{_version.__version__}"
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "cdpfetch", "scripts", "tests"} <= {
        path.name for path in tree.iterdir()
    }
    again, first = build(tree, "wheel", tmp_path / "again"), build(ROOT, "wheel", tmp_path / "first")
    assert again.read_bytes() == first.read_bytes()


def test_a_failing_compiler_is_told(tmp_path: Path) -> None:
    code = "import sys, hatchling.build; hatchling.build.build_wheel(sys.argv[1])"
    command = [sys.executable, "-P", "-c", code, str(tmp_path)]
    environ = {**os.environ, "CC": "false"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "cdpf could not be built" in done.stderr
    assert "CDPFETCH_NATIVE=0" in done.stderr
