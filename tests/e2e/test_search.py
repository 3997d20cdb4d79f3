"""From a search straight to content: results of a loopback service, fetched by the real browser."""

from __future__ import annotations

import json

import pytest
from commands import Command
from fake_http import Seen, Serving
from fake_search import answered
from testsite import Site

pytestmark = pytest.mark.chrome


def test_the_first_results_are_fetched_through_the_chain(own: Command, site: Site) -> None:
    def answers(seen: Seen) -> bytes:
        urls = [site.url(f"/page?result={n}") for n in (1, 2, 3)]
        return answered({"results": [{"id": url, "url": url, "title": f"Result {n}"} for n, url in enumerate(urls)]})

    with Serving(answers) as fake:
        own.configure(
            f"[network]\nallow = ['{site.netloc}']\n"
            f"[search]\nprovider = 'exa'\nbase_url = '{fake.url}'\napi_key = 'k'\n"
        )
        done = own("search", "--fetch", "2", "harbour")
        assert done.status == 0, done.err
        assert "3 results from exa." in done.out
        assert "1. About harbour\n" in done.out and "2. About harbour\n" in done.out
        assert [asked for asked in site.requests if "result=3" in asked[1]] == []
        data = json.loads(own("search", "--json", "--fetch", "1", "harbour").out)
        assert [document["title"] for document in data["documents"]] == ["About harbour"]
        assert len(data["results"]) == 3


def test_a_result_that_fails_is_said(own: Command, site: Site) -> None:
    url = site.url("/nowhere")
    with Serving(lambda seen: answered({"results": [{"id": url, "url": url, "title": "Gone"}]})) as fake:
        own.configure(
            f"[network]\nallow = ['{site.netloc}']\n"
            f"[search]\nprovider = 'exa'\nbase_url = '{fake.url}'\napi_key = 'k'\n"
        )
        done = own("search", "--fetch", "1", "harbour")
    assert done.status == 1
    assert "Failed:" in done.out and "404" in done.out
