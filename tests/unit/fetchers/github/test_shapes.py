"""What GitHub URLs name."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github import accepts, shape_of
from cdpfetch.fetchers.github.hosts import PUBLIC, hosts_of
from cdpfetch.fetchers.github.shapes import Shape, parse
from cdpfetch.urls import parse_url

REPO = "https://github.com/octo/demo"
SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
GIST = "aa5a315d61ae9438b18d"


@pytest.mark.parametrize(
    ("url", "kind", "more"),
    [
        (REPO, "repository", {}),
        (REPO + "/", "repository", {}),
        (REPO + ".git", "repository", {}),
        (REPO + "?tab=readme-ov-file#usage", "repository", {}),
        ("http://www.github.com/octo/demo", "repository", {}),
        (REPO + "/blob/main/src/a.py#L3-L9", "file", {"rest": ("main", "src", "a.py")}),
        (REPO + "/blob/main/a%20b%C3%A9.md", "file", {"rest": ("main", "a bé.md")}),
        (REPO + "/raw/main/a.py", "file", {"rest": ("main", "a.py"), "suffix": "raw"}),
        (
            "https://raw.githubusercontent.com/octo/demo/refs/heads/main/a.py",
            "file",
            {"rest": ("refs", "heads", "main", "a.py"), "suffix": "raw"},
        ),
        (
            "https://api.github.com/repos/octo/demo/contents/src/a.py?ref=dev&x=1",
            "contents",
            {"rest": ("src", "a.py"), "query": {"ref": "dev"}},
        ),
        (REPO + "/tree/feature/x", "tree", {"rest": ("feature", "x")}),
        (REPO + "/issues/12#issuecomment-9", "issue", {"number": 12, "fragment": "issuecomment-9"}),
        (REPO + "/pull/34", "pull", {"number": 34}),
        (REPO + "/pull/34/files", "pull", {"number": 34}),
        (REPO + f"/pull/34/commits/{SHA}", "commit", {"rest": (SHA,)}),
        (REPO + "/pull/34.diff", "patch", {"number": 34, "suffix": "diff", "rest": ("pull",)}),
        (REPO + "/issues", "issues", {}),
        (
            REPO + "/issues?q=is%3Aclosed+label%3A%22help+wanted%22",
            "issues",
            {"query": {"q": 'is:closed label:"help wanted"'}},
        ),
        (REPO + "/pulls?q=is:open&page=2", "pulls", {"query": {"q": "is:open", "page": "2"}}),
        (REPO + f"/commit/{SHA}", "commit", {"rest": (SHA,)}),
        (REPO + f"/commit/{SHA}.patch", "patch", {"rest": ("commit", SHA), "suffix": "patch"}),
        (REPO + "/commits", "commits", {}),
        (REPO + "/commits/main/src?author=alice", "commits", {"rest": ("main", "src"), "query": {"author": "alice"}}),
        (REPO + "/compare/v1...feature/x", "compare", {"rest": ("v1", "...", "feature/x")}),
        (REPO + "/compare/v1..v2", "compare", {"rest": ("v1", "..", "v2")}),
        (REPO + "/compare/dev", "compare", {"rest": ("", "...", "dev")}),
        (REPO + "/compare/v1...v2.diff", "patch", {"rest": ("compare", "v1", "...", "v2"), "suffix": "diff"}),
        (REPO + "/releases", "releases", {}),
        (REPO + "/releases/latest", "release", {}),
        (REPO + "/releases/tag/pkg/v1.0", "release", {"rest": ("pkg/v1.0",)}),
        (REPO + "/releases/download/v1.0/demo.zip", "asset", {"rest": ("v1.0", "demo.zip")}),
        (REPO + "/releases/latest/download/demo.zip", "asset", {"rest": ("", "demo.zip")}),
        (REPO + "/tags", "tags", {}),
        (REPO + "/branches/all", "branches", {}),
        (REPO + "/discussions/56", "discussion", {"number": 56}),
        (REPO + "/actions/runs/900", "run", {"number": 900, "rest": ("", "")}),
        (REPO + "/actions/runs/900/attempts/2", "run", {"number": 900, "rest": ("2", "")}),
        (REPO + "/actions/runs/900/job/77?pr=3", "run", {"number": 900, "rest": ("", "77")}),
    ],
)
def test_a_shape_of_a_repository(url, kind, more):
    assert parse(parse_url(url).href, PUBLIC) == Shape(kind, "octo", "demo", **more)


@pytest.mark.parametrize(
    ("url", "kind", "rest"),
    [
        (f"https://gist.github.com/alice/{GIST}", "gist", (GIST,)),
        (f"https://gist.github.com/{GIST}/{SHA}", "gist", (GIST, SHA)),
        (f"https://gist.github.com/alice/{GIST}/raw", "gist_file", (GIST, "", "")),
        (f"https://gist.githubusercontent.com/alice/{GIST}/raw/{SHA}/a.py", "gist_file", (GIST, SHA, "a.py")),
        (f"https://gist.githubusercontent.com/alice/{GIST}/raw/a.py", "gist_file", (GIST, "", "a.py")),
    ],
)
def test_a_shape_of_a_gist(url, kind, rest):
    assert parse(parse_url(url).href, PUBLIC) == Shape(kind, rest=rest)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/",
        "https://github.com/octo",
        "https://github.com/settings/tokens",
        "https://github.com/orgs/octo",
        "https://github.com/topics/python",
        "https://github.com/oc.to/demo",
        REPO + "/wiki",
        REPO + "/wiki/Home",
        REPO + "/issues/new",
        REPO + "/issues/0",
        REPO + "/issues/12/edit",
        REPO + "/pull/12/checks",
        REPO + "/pull/1x",
        REPO + "/blob/main",
        REPO + "/blame/main/a.py",
        REPO + "/compare",
        REPO + "/releases/new",
        REPO + "/actions",
        REPO + "/settings",
        REPO + "/blob/main/..%2F..%2Fx",
        REPO + "/blob/main/a%00b",
        REPO + "/blob/main/%ff",
        REPO + "/blob/main//a",
        "https://api.github.com/repos/octo/demo",
        "https://api.github.com/repos/octo/demo/issues/1",
        "https://gist.github.com/alice",
        "https://gist.github.com/discover",
        "https://github.com.evil.example/octo/demo",
        "https://github.com:444/octo/demo",
        "https://evilgithub.com/octo/demo",
        "https://raw.githubusercontent.com/octo/demo/main",
        "https://docs.github.com/en/rest",
    ],
)
def test_what_is_no_shape_is_left_to_others(url):
    assert shape_of(parse_url(url).href) is None


def test_the_hosts_follow_from_the_address_of_the_api():
    enterprise = hosts_of("https://git.corp.example/api/v3/")
    assert (enterprise.web, enterprise.graphql) == ("https://git.corp.example", "https://git.corp.example/api/graphql")
    assert enterprise.raw == "https://git.corp.example/raw"
    assert parse("https://git.corp.example/a/b/issues/3", enterprise) == Shape("issue", "a", "b", number=3)
    assert parse(f"https://git.corp.example/gist/a/{GIST}", enterprise) == Shape("gist", rest=(GIST,))
    assert parse("https://git.corp.example/raw/a/b/main/x", enterprise) == Shape(
        "file", "a", "b", rest=("main", "x"), suffix="raw"
    )
    assert parse("https://git.corp.example/api/v3/repos/a/b/contents/x", enterprise) == Shape(
        "contents", "a", "b", rest=("x",)
    )
    assert parse("https://git.corp.example/api/v3/issues", enterprise) is None
    assert parse("https://github.com/a/b", enterprise) is None
    cloud = hosts_of("https://api.octo.ghe.com")
    assert (cloud.web, cloud.graphql) == ("https://octo.ghe.com", "https://api.octo.ghe.com/graphql")
    local = hosts_of("http://127.0.0.1:8080/api/v3")
    assert parse("http://127.0.0.1:8080/a/b/tags", local) == Shape("tags", "a", "b")
    assert parse("http://127.0.0.1:8081/a/b/tags", local) is None
    assert hosts_of(None) is hosts_of("https://api.github.com/") is PUBLIC


def test_what_may_have_the_token():
    assert PUBLIC.is_secure
    assert hosts_of("http://127.0.0.1:1/api/v3").is_secure
    assert not hosts_of("http://git.corp.example/api/v3").is_secure
    assert not hosts_of("http://127.evil.example/api/v3").is_secure
    assert PUBLIC.service() == ("https://raw.githubusercontent.com",)
    assert PUBLIC.is_own("https://raw.githubusercontent.com/a/b/main/x?token=1")
    assert not PUBLIC.is_own("https://raw.githubusercontent.com.evil.example/a")
    assert not PUBLIC.is_own("https://raw.githubusercontent.com@evil.example/a")


@pytest.mark.parametrize("option", ["screenshot", "wait_for", "headers", "insecure", "keep_page"])
def test_what_only_a_browser_can_do_is_left_to_it(option):
    assert not accepts(Shape("issue"), {option: True})
    assert accepts(Shape("issue"), {option: None, "extractor": "auto", "deadline": 3})
    assert not accepts(Shape("issue"), {"extractor": "trafilatura"})


def test_formats():
    assert [accepts(Shape("issue"), {"format": name}) for name in ("markdown", "text", "html", "source")] == [
        True,
        True,
        False,
        False,
    ]
    assert all(accepts(Shape(kind), {"format": "source"}) for kind in ("file", "patch", "pull", "commit", "gist_file"))


def test_claiming_loads_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules)\n"
        "from cdpfetch.fetchers.github import GithubFetcher, shape_of\n"
        "assert shape_of('https://github.com/octo/demo/issues/1').number == 1\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} <= {"cdpfetch", "__future__", "_version"}


_PART = st.one_of(
    st.sampled_from(
        "octo demo blob raw tree issues pull pulls commit commits compare releases download tag latest tags branches "
        "discussions actions runs job 12 main a.py .. . %2e%2e %2F %00 v1...v2 x.diff wiki refs heads gist".split()
    ),
    st.text(max_size=12),
)


@given(
    host=st.sampled_from(
        [
            "github.com",
            "gist.github.com",
            "raw.githubusercontent.com",
            "api.github.com",
            "evil.example",
            "github.com.x.io",
        ]
    ),
    parts=st.lists(_PART, max_size=9),
    tail=st.text(max_size=20),
)
def test_any_url_is_a_sound_shape_or_none(host, parts, tail):
    try:
        href = parse_url(f"https://{host}/{'/'.join(parts)}{tail}").href
    except CdpFetchError:
        return
    shape = parse(href, PUBLIC)
    assert parse(href, PUBLIC) == shape
    if shape is None:
        return
    assert host in ("github.com", "gist.github.com", "raw.githubusercontent.com", "api.github.com")
    pieces = "/".join([shape.owner, shape.repo, *shape.rest]).split("/")
    assert not {"..", "."} & set(pieces)
    assert not any(char < " " for piece in pieces for char in piece)
    assert shape.kind.startswith("gist") or (shape.owner and shape.repo)


@given(st.text(max_size=80))
def test_no_text_makes_the_parser_fail(text):
    assert parse(text, PUBLIC) is None or "github" in text


@given(
    owner=st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9-]{0,20}\Z").filter(
        lambda name: shape_of(f"https://github.com/{name}/x")
    ),
    repo=st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9._-]{0,20}\Z").filter(lambda name: not name.endswith((".git", "."))),
    number=st.integers(1, 10**9),
    path=st.lists(st.from_regex(r"\A[A-Za-z0-9_ é-]{1,9}\Z"), min_size=1, max_size=5),
)
def test_what_is_written_is_what_is_read(owner, repo, number, path):
    base = f"https://github.com/{owner}/{repo}"
    assert shape_of(f"{base}/issues/{number}") == Shape("issue", owner, repo, number=number)
    assert shape_of(f"{base}/pull/{number}") == Shape("pull", owner, repo, number=number)
    href = parse_url(f"{base}/blob/main/{'/'.join(path)}").href
    if path[-1] == path[-1].strip():
        assert shape_of(href) == Shape("file", owner, repo, rest=("main", *path))
