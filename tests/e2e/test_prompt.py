"""Questions about pages through the whole command, with a model's endpoint on loopback."""

from __future__ import annotations

import json
from pathlib import Path

from commands import Command
from fake_llm import Llm, completion, failure
from testsite import Site

import cdpfetch

KEY = "sk-kelp-0123456789"


def set_up(command: Command, site: Site, base_url: str) -> None:
    command.configure(
        f'[network]\nallow = ["{site.netloc}"]\n[llm]\nbase_url = "{base_url}"\nmodel = "small"\napi_key = "{KEY}"\n'
    )


def test_answers_and_what_is_said_without_one(own: Command, site: Site) -> None:
    ask = ("fetch", "--engine", "http", "--prompt", "Which word?")
    with Llm(completion("The word is \x1b[1mquay."), failure(401, f"no {KEY}")) as llm:
        set_up(own, site, llm.base_url)
        good = own(*ask, site.url("/page?word=quay"))
        assert (good.status, good.err) == (0, "")
        assert good.out.startswith("1. About quay\n")
        assert good.out.endswith("   answer:\n   The word is quay.\n")
        assert "The keeper counted" in llm.asked[0]["messages"][1]["content"]
        bad = own(*ask, "--json", site.url("/page?word=quay"), site.url("/status/404"))
        assert bad.status == 1
        document, failed = bad.documents
        assert document["ok"]
        assert document["answer"]["text"] is None
        assert document["answer"]["error"]["code"] == "auth_required"
        assert f"cdpfetch read {document['fetch_id']}" in document["answer"]["error"]["hint"]
        assert "answer" not in failed
        assert own("read", document["fetch_id"]).out.startswith("# The quay")
        said = own(*ask, "--print", site.url("/page?word=quay"))
        assert (said.status, said.out) == (1, "")
        assert "refuses the key (HTTP 401): no [key]" in said.err
        with_library = cdpfetch.fetch(site.url("/page"), home=own.home.root, engine="http", prompt="Which word?")
        assert (with_library.answer or {})["error"]["code"] == "auth_required"
    assert len(llm.requests) == 4
    # The key is nowhere but in the settings, and the answer is not in the document.
    for path in Path(own.home.root).rglob("*"):
        if path.is_file() and path.name != "config.toml":
            assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in good.out + bad.out + said.err
    metadata = json.loads((Path(document["dir"]) / "metadata.json").read_text("utf-8"))
    assert "answer" not in metadata


def test_a_prompt_without_a_model(own: Command, site: Site) -> None:
    done = own("fetch", "--engine", "http", "--prompt", "Which word?", site.url("/page?word=quay"))
    assert done.status == 2
    assert "   no answer: llm.base_url is not set" in done.out
    assert "cdpfetch config set llm.base_url" in done.out
    done = own("fetch", "--engine", "http", "--prompt", " ", site.url("/page?word=quay"))
    assert done.status == 2
    assert "the prompt is empty" in done.err
