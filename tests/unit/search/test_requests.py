"""Calls: what they may hold, and how results are shared out."""

from __future__ import annotations

from typing import Any

import pytest

from cdpfetch.errors import InvalidRequest
from cdpfetch.search.calling import call_of
from cdpfetch.search.contract import Query
from cdpfetch.search.openai import OpenAI
from cdpfetch.search.requests import FIELDS, parse, schema, shares

SEARCH = frozenset({"search_query"})


def queries(*words: str, length: str = "medium") -> dict[str, Any]:
    return {"search_query": [{"q": word} for word in words], "response_length": length}


@pytest.mark.parametrize(
    ("count", "length", "expected"),
    [
        (1, "short", [5]),
        (1, "medium", [10]),
        (1, "long", [15]),
        (4, "long", [4, 4, 4, 3]),
        (3, "medium", [4, 3, 3]),
        (2, "short", [3, 2]),
        (10, "short", [1] * 10),
    ],
)
def test_results_are_shared_out_over_the_queries(count: int, length: str, expected: list[int]) -> None:
    request = parse(queries(*(f"q{n}" for n in range(count)), length=length), "exa", SEARCH)
    assert shares(request) == expected


def test_images_take_part_in_the_sharing() -> None:
    call = {"search_query": [{"q": "a"}], "image_query": [{"q": "b"}], "response_length": "short"}
    request = parse(call, "brave", frozenset({"search_query", "image_query"}))
    assert shares(request) == [3, 2]


def test_a_query_is_read_whole() -> None:
    call = {"search_query": [{"q": " two \n words ", "domains": ["https://Example.com/x", "*.b.org"], "recency": 7}]}
    request = parse(call, "exa", SEARCH)
    assert request.queries == (Query("two words", ("example.com", "b.org"), 7),)
    assert request.response_length == "medium"


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "search_query"])
def test_what_a_provider_lacks_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"exa has no {name}") as caught:
        parse({"search_query": [{"q": "a"}], name: [{}]}, "exa", SEARCH)
    assert caught.value.hint == "it has: search_query"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ({}, "holds no command"),
        ({"search_query": []}, "holds no command"),
        ({"search_query": [{"q": " "}]}, "a query is empty"),
        ({"search_query": [{}]}, "'q' is a required property"),
        ({"search_query": "words"}, "is not of type 'array'"),
        ({"search_query": [{"q": "a", "recency": 0}]}, "less than the minimum"),
        ({"search_query": [{"q": "a", "domains": ["not a domain"]}]}, "is no domain"),
        ({"search_query": [{"q": "a"}] * 11}, "is too long"),
        ({"search_query": [{"q": "a"}], "response_length": "huge"}, "is not one of"),
        ({"search_query": [{"q": "a"}], "allow": ["127.0.0.1"]}, "'allow' was unexpected"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        parse(call, "exa", SEARCH)


def test_the_schema_holds_what_the_provider_has_and_no_more() -> None:
    assert set(schema(SEARCH)["properties"]) == {"search_query", "response_length"}
    assert set(schema(OpenAI.commands)["properties"]) == {*FIELDS, "response_length"}


def test_calls_are_made_of_words_or_taken_whole() -> None:
    assert call_of("a", domains=["x.org"], recency=3, response_length="short") == {
        "search_query": [{"q": "a", "domains": ["x.org"], "recency": 3}],
        "response_length": "short",
    }
    assert call_of(["a", "b"]) == {"search_query": [{"q": "a"}, {"q": "b"}]}
    assert call_of({"time": [{"utc_offset": "+01:00"}]}) == {"time": [{"utc_offset": "+01:00"}]}
    assert call_of(None, commands={"finance": []}) == {"finance": []}
    with pytest.raises(InvalidRequest, match="a query is no text"):
        call_of([1])  # type: ignore[list-item]
