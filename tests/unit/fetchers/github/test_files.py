"""Files, folders and repositories."""

from __future__ import annotations

import base64
import hashlib

import pytest
from fake_github import MISSING, entry, github, reply, repository
from fake_http import answer, serving

from cdpfetch.config import Fetch
from cdpfetch.document import Document
from cdpfetch.fetchers.github import serving as served
from cdpfetch.fetchers.github.hosts import Hosts

CODE = b"import time\n\n\ndef dawn():\n    return time.time()\n"
CONTENTS = "/repos/octo/demo/contents"


def body_of(document, role):
    (body,) = [body for body in document["bodies"] if body["role"] == role]
    with open(body["path"], "rb") as file:
        return body["name"], body["content_type"], file.read()


async def test_code_is_source_exactly(caller):
    async with github() as hub:
        hub.add_file("src/lamp.py", CODE)
        document = await caller.document(hub, "/octo/demo/blob/main/src/lamp.py#L4-L5")
        link = hub.url + "/octo/demo/blob/main/src/lamp.py"
    assert body_of(document, "source") == ("lamp.py", "text/x-python", CODE)
    assert (document["kind"], document["title"], document["link"]) == ("github.file", "octo/demo: src/lamp.py", link)
    assert document["facts"] == ["at main", "49 B", "5 lines"]
    assert document["excerpt"] == "import time def dawn(): return time.time()"
    assert (document["bytes"], document["sha256"]) == (len(CODE), hashlib.sha256(CODE).hexdigest())
    assert document["bodies"][0]["lines"] == 5
    view = Document(document)
    assert view.text() == view.text("text") == view.text("source") == CODE.decode()


async def test_markdown_is_content_as_it_is(caller):
    data = b"# Lamps\r\n\r\nA lamp that is lit before the tide comes in saves every ship.\r\n\r\n## Oil\r\n"
    async with github() as hub:
        hub.add_file("docs/LAMPS.md", data)
        document = await caller.document(hub, "/octo/demo/raw/main/docs/LAMPS.md")
    assert body_of(document, "content") == ("LAMPS.md", "text/markdown", data)
    assert document["outline"] == [{"level": 1, "text": "Lamps", "line": 1}, {"level": 2, "text": "Oil", "line": 5}]
    assert document["excerpt"] == "A lamp that is lit before the tide comes in saves every ship."


async def test_what_nobody_sees_is_taken_out_of_markdown_and_said_of_code(caller):
    text = "# Lamps\n\nSafe.\U000e0041\U000e0042 \u202eReally.\n".encode()
    async with github() as hub:
        hub.add_file("a.md", text)
        hub.add_file("a.py", text)
        markdown = await caller.document(hub, "/octo/demo/blob/main/a.md")
        code = await caller.document(hub, "/octo/demo/blob/main/a.py")
    assert Document(markdown).text() == "# Lamps\n\nSafe. Really.\n"
    assert body_of(markdown, "original") == ("a.md", "text/markdown", text)
    assert markdown["warnings"][0]["message"] == "3 invisible characters were removed from content.md"
    assert body_of(code, "source")[2] == text
    assert "holds invisible characters (3)" in code["warnings"][0]["message"]
    assert "\u202e" not in markdown["excerpt"] + code["excerpt"]


@pytest.mark.parametrize(
    ("name", "data", "content_type"),
    [
        ("lamp.html", b"<!doctype html><title>x</title><p>Lamp", "text/html"),
        ("a.pdf", b"%PDF-1.4\n%\xe2\xe3\n1 0 obj", "application/pdf"),
        ("a.bin", bytes(range(256)) * 4, "application/octet-stream"),
        ("lamp.png", b"\x89PNG\r\n\x1a\n\x00\x00", "image/png"),
        (
            "a.docx",
            b"PK\x03\x04\x14\x00\x06\x00\x08\x00",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("fake.md", b"# x\x00\x01\x02", "application/octet-stream"),
    ],
)
async def test_pages_documents_and_binaries_are_kept_as_they_are(caller, name, data, content_type):
    async with github() as hub:
        hub.add_file(name, data)
        document = await caller.document(hub, f"/octo/demo/blob/main/{name}")
    assert body_of(document, "original") == (name, content_type, data)
    hints = [warning["code"] for warning in document["warnings"]]
    assert hints == (
        ["not_extracted"] if content_type.startswith(("text/html", "application/pdf", "application/vnd")) else []
    )
    assert (document["content_type"], document["sha256"]) == (content_type, hashlib.sha256(data).hexdigest())


async def test_text_in_another_encoding_is_kept_and_decoded(caller):
    data = "name;Größe\nLeuchtturm;groß und schön über dem Meer, für Schiffe\n".encode("cp1252")
    async with github() as hub:
        hub.add_file("a.csv", data)
        document = await caller.document(hub, "/octo/demo/blob/main/a.csv")
    assert body_of(document, "original") == ("a.csv", "text/csv", data)
    assert Document(document).text() == data.decode("cp1252")


async def test_an_empty_file(caller):
    async with github() as hub:
        hub.add_file("src/__init__.py", b"")
        document = await caller.document(hub, "/octo/demo/blob/main/src/__init__.py")
    assert (document["bytes"], document["facts"], document["excerpt"]) == (0, ["at main", "0 B", "0 lines"], None)


async def test_more_than_a_megabyte_comes_from_the_raw_host(caller):
    data = b"a line of a long table, 12345\n" * 50_000
    caller.environ["GH_TOKEN"] = "s3cr3t"
    async with github() as hub:
        hub.add_file("big.csv", data)
        document = await caller.document(hub, "/octo/demo/blob/main/big.csv")
        assert hub.seen[-1].target == "/raw/octo/demo/main/big.csv?token=SIGNED"
        assert hub.seen[-1].headers["accept-encoding"] == "identity"
    assert body_of(document, "source") == ("big.csv", "text/csv", data)
    assert (document["bytes"], document["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert document["facts"] == ["at main", "1.5 MB", "50,000 lines"]
    assert {"event": "status", "stage": "downloading"}.items() <= caller.events[-1].items()
    assert caller.events[-1]["totalBytes"] == len(data)
    assert "SIGNED" not in str(document)


async def test_where_the_raw_host_has_it_not_the_api_gives_it_raw(caller):
    data = bytes(1_100_000)
    async with github() as hub:
        hub.add_file("big.bin", data)
        del hub.routes["/raw/octo/demo/main/big.bin"]
        listed = hub.routes["/api/v3" + CONTENTS + "/big.bin"]
        hub.routes["/api/v3" + CONTENTS + "/big.bin"] = lambda seen: (
            answer(200, data) if seen.headers["accept"] == "application/vnd.github.raw+json" else listed(seen)
        )
        document = await caller.document(hub, "/octo/demo/blob/main/big.bin")
        assert hub.targets[-1] == CONTENTS + "/big.bin?ref=main"
    assert document["sha256"] == hashlib.sha256(data).hexdigest()


async def test_a_file_over_the_limit_is_refused_before_it_is_fetched(caller):
    caller.config = caller.config._replace(fetch=Fetch(max_bytes=1_500_000))
    async with github() as hub:
        hub.add_file("big.bin", bytes(1_600_000))
        error = await caller.error(hub, "/octo/demo/blob/main/big.bin")
        assert len(hub.seen) == 1
    assert (error.code, error.reason) == ("too_large", "big.bin has 1.6 MB, over the limit of 1.5 MB")


@pytest.mark.parametrize("way", ["blob", "raw"])
async def test_a_ref_with_slashes_is_found_the_longest_path_first(caller, way):
    async with github() as hub:
        hub.add_file("src/lamp.py", CODE, ref="feature/bright/er")
        document = await caller.document(hub, f"/octo/demo/{way}/feature/bright/er/src/lamp.py")
        assert hub.targets == [
            CONTENTS + "/bright/er/src/lamp.py?ref=feature",
            CONTENTS + "/er/src/lamp.py?ref=feature%2Fbright",
            CONTENTS + "/src/lamp.py?ref=feature%2Fbright%2Fer",
        ]
    assert document["title"] == "octo/demo: src/lamp.py"
    assert document["facts"][0] == "at feature/bright/er"


async def test_no_split_that_fits_is_said_with_the_token_hint(caller):
    async with github() as hub:
        error = await caller.error(hub, "/octo/demo/blob/a/b/c/d.py")
        assert len(hub.seen) == 3
        sha = "a" * 40
        await caller.error(hub, f"/octo/demo/blob/{sha}/b/c/d.py")
        assert len(hub.seen) == 4
        await caller.error(hub, "/octo/demo/blob/" + "/".join("abcdefghijklmnopqrst"))
        assert len(hub.seen) == 12
    assert error.code == "http_error"
    assert error.reason == (
        "GitHub answered 404 Not Found for octo/demo at a/b/c/d.py, in each of 3 ways to part it into ref and path"
    )
    assert error.hint == "if it is private: set GH_TOKEN, or github.token with `cdpfetch config set`"


async def test_refs_with_their_kind_are_one_part(caller):
    async with github() as hub:
        hub.add_file("lamp.py", CODE, ref="refs/heads/main")
        document = await caller.document(hub, "/raw/octo/demo/refs/heads/main/lamp.py")
        assert hub.targets == [CONTENTS + "/lamp.py?ref=refs%2Fheads%2Fmain"]
    assert document["facts"][0] == "at refs/heads/main"


async def test_a_raw_host_of_its_own_is_asked_first_and_gets_the_token(caller, monkeypatch):
    caller.environ["GITHUB_TOKEN"] = "s3cr3t"

    def raw_answer(seen):
        return answer(200, CODE) if seen.target.endswith("/lamp.py") else answer(404, b"404: Not Found")

    async with github() as hub, serving(raw_answer) as raw:
        api = hub.api
        hosts = Hosts(api, api + "/graphql", hub.url, raw.url, hub.url + "/gist", hub.url + "/gist/raw")
        monkeypatch.setattr(served, "hosts_of", lambda _url: hosts)
        monkeypatch.setattr("cdpfetch.fetchers.github.hosts_of", lambda _url: hosts)
        hub.add_file("other.py", b"x = 1\n")
        first, second = await caller.many(
            hub, [raw.url + "/octo/demo/main/lamp.py", hub.url + "/octo/demo/raw/main/other.py"]
        )
        assert [seen.headers["authorization"] for seen in raw.seen] == ["Bearer s3cr3t"] * 2
        assert len(hub.seen) == 1
    assert body_of(first, "source") == ("lamp.py", "text/x-python", CODE)
    assert body_of(second, "source")[2] == b"x = 1\n"


async def test_the_contents_api_itself(caller):
    async with github() as hub:
        hub.add_file("src/lamp.py", CODE, ref="dev")
        hub.add_folder("", [entry("src", "dir"), entry("lamp.py", size=50)])
        file = await caller.document(hub, f"/api/v3{CONTENTS}/src/lamp.py?ref=dev")
        folder = await caller.document(hub, f"/api/v3{CONTENTS}")
    assert body_of(file, "source")[2] == CODE
    assert folder["kind"] == "github.tree"
    assert folder["title"] == "octo/demo: root/"


async def test_a_pointer_of_lfs_is_called_one(caller):
    data = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123456789\n"
    async with github() as hub:
        hub.add_file("model.bin", data)
        document = await caller.document(hub, "/octo/demo/blob/main/model.bin")
    assert document["warnings"][0]["code"] == "git_lfs"
    assert "the file itself of 123.5 MB is not in the repository" in document["warnings"][0]["message"]


async def test_a_folder_is_listed_with_its_readme(caller):
    readme = {**entry("README.md", size=9, path="src/README.md"), "encoding": "base64"}
    readme["content"] = base64.encodebytes(b"# Source\n\nAll code is here, and nothing else is.\n").decode()
    async with github() as hub:
        hub.add_folder(
            "src",
            [
                entry("lamp.py", size=5025),
                entry("door", "dir"),
                entry("README.md", size=9),
                {**entry("lib"), "git_url": None},
            ],
            ref="v1/x",
        )
        hub.add("/repos/octo/demo/readme/src", readme)
        document = await caller.document(hub, "/octo/demo/tree/v1/x/src")
        assert hub.targets[-1] == "/repos/octo/demo/readme/src?ref=v1%2Fx"
        base = hub.url
    assert document["title"] == "octo/demo: src/ at v1/x"
    assert document["facts"] == ["2 folders", "2 files", "at v1/x"]
    assert (
        Document(document).text()
        == f"""\
# octo/demo: src/ at v1/x

| Name | Kind | Size |
| --- | --- | --- |
| `door/` | folder |  |
| `lib` | submodule |  |
| `lamp.py` | file | 5.0 KB |
| `README.md` | file | 9 B |

## README.md

*Its relative links are below <{base}/octo/demo/tree/v1/x/src/>.*

### Source

All code is here, and nothing else is.
"""
    )


async def test_a_blob_that_is_a_folder_and_a_tree_that_is_a_file(caller):
    async with github() as hub:
        hub.add_folder("src", [entry("lamp.py", size=50)])
        hub.add_file("lamp.py", CODE)
        folder = await caller.document(hub, "/octo/demo/blob/main/src")
        file = await caller.document(hub, "/octo/demo/tree/main/lamp.py")
    assert (folder["kind"], file["kind"]) == ("github.tree", "github.file")


async def test_a_submodule_leads_elsewhere(caller):
    async with github() as hub:
        hub.add(
            CONTENTS + "/lib", {"type": "submodule", "name": "lib", "submodule_git_url": "https://github.com/o/lib"}
        )
        error = await caller.error(hub, "/octo/demo/blob/main/lib")
    assert (error.code, error.reason) == ("no_content", "lib is a submodule that leads to https://github.com/o/lib")


async def test_a_repository_with_its_facts_and_readme(caller):
    text = (
        "Demo\n====\n\nLanterns for coasts that are long and dark, in one file.\n\n# Use\n\n```sh\n# no heading\n```\n"
    )
    readme = {**entry("README.md"), "encoding": "base64", "content": base64.b64encode(text.encode()).decode()}
    async with github() as hub:
        hub.add("/repos/octo/demo", repository())
        hub.add_folder("", [entry("README.md", size=1200), entry("src", "dir")])
        hub.add("/repos/octo/demo/readme", readme)
        document = await caller.document(hub, "/octo/demo")
    assert document["title"] == "octo/demo: Lanterns for long coasts"
    assert document["facts"] == ["4,321 stars", "MIT", "branch main", "pushed 2026-11-29", "lighthouse, coast"]
    assert document["excerpt"] == "Lanterns for coasts that are long and dark, in one file."
    assert document["link"] == "https://github.com/octo/demo"
    assert (
        Document(document).text()
        == """\
# octo/demo

Lanterns for long coasts

- Stars: 4,321
- Forks: 87
- Open issues and pull requests: 12
- Language: Python
- Licence: MIT
- Default branch: `main`
- Last push: 2026-11-29
- Created: 2019-05-01
- Topics: lighthouse, coast
- Home page: https://demo.example/

## Files

| Name | Kind | Size |
| --- | --- | --- |
| `src/` | folder |  |
| `README.md` | file | 1.2 KB |

## README.md

*Its relative links are below <https://github.com/octo/demo/blob/main/>.*

### Demo

Lanterns for coasts that are long and dark, in one file.

### Use

```sh
# no heading
```
"""
    )


async def test_an_empty_repository(caller):
    async with github() as hub:
        hub.add("/repos/octo/demo", repository(description=None, license=None, topics=[]))
        hub.add(CONTENTS + "/", {**MISSING, "message": "This repository is empty."}, 404)
        document = await caller.document(hub, "/octo/demo")
    assert document["title"] == "octo/demo"
    assert "*The repository is empty.*" in Document(document).text()


async def test_a_renamed_repository_is_followed_and_keeps_the_token(caller):
    caller.environ["GH_TOKEN"] = "s3cr3t"
    async with github() as hub:
        hub.routes["/api/v3/repos/old/name"] = lambda seen: reply(
            {"message": "Moved Permanently"}, 301, location=hub.api + "/repositories/1296269"
        )
        hub.add("/repositories/1296269", repository())
        document = await caller.document(hub, "/old/name")
        assert {seen.headers.get("authorization") for seen in hub.seen} == {"Bearer s3cr3t"}
    assert document["title"].startswith("octo/demo")
