"""The library's view of a document."""

import pytest

from cdpfetch import artifacts
from cdpfetch.document import Document, Page, outcome_of
from cdpfetch.errors import CdpFetchError, FetchError


@pytest.fixture
def saved(tmp_path):
    with artifacts.Draft(str(tmp_path), "example.com-doc-0123abcd") as draft:
        draft.write("content.md", "content", "# One\r\ntwo\n", "text/markdown")
        draft.write("page.html", "page", "<h1>One</h1>", "text/html")
        document = {**artifacts.new_document("https://example.com/doc"), "ok": True, "title": "One", "status": 200}
        return draft.commit(document)


def test_every_key_is_an_attribute(saved):
    document = Document(saved)
    for key in artifacts.new_document(""):
        value = getattr(document, key)
        assert value == saved[key] or (key == "error" and value is None)
    assert document.to_dict() is saved
    assert document == Document(dict(saved))
    assert repr(document) == f"<Document https://example.com/doc ok in {saved['dir']}>"


def test_a_neutral_document_has_neutral_attributes():
    document = Document(artifacts.new_document("https://example.com/"))
    for key in ("title", "excerpt", "status", "content_type", "sha256", "coverage", "fetch_id", "dir"):
        assert getattr(document, key) is None
    assert document.error is not None
    assert document.error.code == "internal"


def test_text_is_the_body_exactly(saved):
    document = Document(saved)
    assert document.text() == "# One\r\ntwo\n"
    assert document.text("html") == "<h1>One</h1>"
    assert document.path("page") == saved["bodies"][1]["path"]
    assert document.path("screenshot") is None


def test_text_that_is_not_there_is_explained(saved):
    document = Document({**saved, "bodies": []})
    with pytest.raises(CdpFetchError, match="has no markdown") as caught:
        document.text()
    assert caught.value.code == "invalid_request"
    gone = [{**saved["bodies"][0], "path": "/nowhere/content.md"}]
    with pytest.raises(CdpFetchError, match="cannot read /nowhere"):
        Document({**saved, "bodies": gone}).text()


def test_an_outcome_holds_the_error():
    data = artifacts.new_document("https://example.com/")
    data["error"] = {"code": "timeout", "reason": "slow", "hint": "wait"}
    data["attempts"] = [{"source": "local", "code": "timeout", "reason": "slow"}]
    outcome = outcome_of(data)
    assert not outcome.ok
    assert isinstance(outcome.error, FetchError)
    assert str(outcome.error) == "timeout: slow (wait)"
    assert outcome.error.attempts == data["attempts"]
    assert outcome.error.document is data
    assert repr(outcome) == "<Outcome https://example.com/ timeout>"


def test_a_good_outcome(saved):
    outcome = outcome_of(saved)
    assert outcome.ok
    assert outcome.error is None
    assert outcome.document.title == "One"


def test_a_page_of_reading():
    page = Page({"fetch_id": "x-0123abcd", "text": "a\n", "offset": 1, "next_offset": None, "total_lines": 1})
    assert str(page) == page.text == "a\n"
    assert (page.fetch_id, page.offset, page.next_offset, page.total_lines) == ("x-0123abcd", 1, None, 1)
