"""From what a navigation brought to a document on disk: bodies, facts, verdict, metadata."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cdpfetch import artifacts, disk, invisible, names
from cdpfetch.cdp.capture import Capture
from cdpfetch.cdp.landing import Landing, ResponseHead
from cdpfetch.daemon import mojibake, multipart, verdicts
from cdpfetch.daemon.routing import RedirectStopped, charset, essence
from cdpfetch.daemon.threads import in_thread
from cdpfetch.errors import CdpFetchError, InvalidRequest
from cdpfetch.extract.pool import ExtractionFailed, ExtractPool
from cdpfetch.extract.result import RECOVERED

if TYPE_CHECKING:
    from cdpfetch.daemon.options import FetchOptions

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_HASH_CHUNK = 1 << 20
# Of the time that is left, extraction may take so much; the rest is for writing.
_EXTRACT_SHARE = 0.9
# Bytes that are written in less than a millisecond.
_SMALL = 1 << 19

NEEDS_SCRIPTS = "needs_scripts"
"""The code of the warning about a page that was read without a browser, which would show more of it."""


class Assembler:
    """Writes documents; ``index_root`` is where ``read`` will look for them."""

    def __init__(self, pool: ExtractPool, index_root: str, *, keep_pages: bool = True, min_free: int = 0) -> None:
        self._pool = pool
        self._min_free = min_free  # bytes that are left on the disk
        self._keep_pages = keep_pages  # whether page.html stays when its content was taken
        self._index_root = index_root

    async def assemble(
        self, options: FetchOptions, landing: Landing, warnings: list[dict[str, str]], seconds: float
    ) -> dict[str, Any]:
        """The document that a landing makes, not yet committed: its Draft is under the key ``draft``.

        ``seconds`` are left for all of it.  Raises CdpFetchError (``disk_full``, ``invalid_request``,
        ``empty_response``, ``no_content``); nothing is left behind then.
        """
        document = artifacts.new_document(options.url)
        document["warnings"] = warnings + [{"code": code, "message": text} for code, text in landing.notes]
        if landing.partial:
            document["verdict"] = "partial"
            document["warnings"] += [{"code": "partial", "message": text} for text in landing.partial]
        draft: artifacts.Draft | None = None
        try:
            draft = self._draft(options.directory, options.url)
            document["draft"] = draft
            if landing.capture is not None:
                await self._page(document, draft, landing.capture, landing.head, options, seconds)
                if landing.screenshot is not None:
                    draft.write("screenshot.png", "screenshot", landing.screenshot, "image/png")
            else:
                await self._file(document, draft, landing, options, seconds)
        except BaseException:
            if draft is not None:
                draft.discard()
            if landing.path is not None:
                with contextlib.suppress(OSError):
                    os.unlink(landing.path)
            raise
        return document

    async def redirect(self, options: FetchOptions, stopped: RedirectStopped) -> dict[str, Any]:
        """The committed document of a redirect that was not followed: it names both addresses and the status.

        Raises CdpFetchError (``disk_full``, ``invalid_request``).
        """
        how = f"HTTP {stopped.status}" if stopped.status != 200 else "the page itself"
        text = (
            f"# Redirect to another host\n\n{stopped.url} leads ({how}) to another host and was not followed:\n\n"
            f"<{stopped.target}>\n\nFetch that address if you want it.\n"
        )
        document = artifacts.new_document(options.url)
        document.update(
            ok=True,
            kind="local.redirect",
            link=stopped.target,
            title="Redirect to another host",
            status=stopped.status,
            facts=[f"redirects to {stopped.target}", f"status {stopped.status}"],
            excerpt=str(stopped),
            warnings=[{"code": "redirect_not_followed", "message": str(stopped)}],
        )
        with self._draft(options.directory, options.url) as draft:
            draft.write("content.md", "content", text, "text/markdown")
            return await in_thread(draft.commit, document, index_root=self._index_root)

    async def commit(self, document: dict[str, Any]) -> dict[str, Any]:
        """Put the document in its place and return it as users see it."""
        draft: artifacts.Draft = document.pop("draft")
        try:
            return await _soon(document["bytes"], draft.commit, document, index_root=self._index_root)
        finally:
            draft.discard()

    async def extract(
        self,
        source: str,
        directory: str,
        *,
        url: str | None,
        content_type: str | None,
        extractor: str | None,
        seconds: float,
    ) -> dict[str, Any]:
        """The committed document of a file that is already on disk; the file stays where it is.

        Raises CdpFetchError (``invalid_request``, ``no_content``, ``disk_full``) and ExtractionFailed.
        """
        try:
            size = os.stat(source).st_size
        except OSError as error:
            raise InvalidRequest(f"{source} can't be read: {error.strerror}") from error
        document = artifacts.new_document(url or f"file://{source}")
        title = os.path.basename(source)
        document.update(kind="local.file", ok=True, title=title, content_type=content_type, bytes=size)
        with self._draft(directory, document["url"]) as draft:
            job = {
                "op": "file",
                "path": source,
                "url": url or "",
                "out_dir": draft.path,
                "content_type": content_type,
                "extractor": extractor,
            }
            answer = await self._pool.run(job, seconds)
            self._enter(document, draft, answer, prefer_title=True)
            if answer["content"] is None:
                reasons = "; ".join(warning["message"] for warning in answer["warnings"]) or "it holds none"
                raise CdpFetchError("no_content", f"no text could be taken from {source}: {reasons}")
            return await in_thread(draft.commit, document, index_root=self._index_root)

    def _draft(self, directory: str, url: str) -> artifacts.Draft:
        return artifacts.Draft(directory, artifacts.new_fetch_id(url), self._min_free)

    async def _page(
        self,
        document: dict[str, Any],
        draft: artifacts.Draft,
        taken: Capture,
        head: ResponseHead | None,
        options: FetchOptions,
        seconds: float,
    ) -> None:
        html, title = taken.html, taken.title
        if _is_guessed(taken, head):
            html, title = mojibake.repair(html), mojibake.repair(title)
        data = html.encode("utf-8", "surrogatepass")
        path = await _soon(len(data), draft.write, "page.html", "page", data, "text/html; charset=utf-8")
        document.update(
            kind="local.page",
            link=taken.url,
            title=" ".join(invisible.clean(title)[0].split()) or None,
            status=head.status if head is not None else 200,
            content_type=taken.content_type,
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            ok=True,
        )
        job = {
            "op": "page",
            "path": path,
            "url": taken.url,
            "out_dir": draft.path,
            "extractor": options.extractor,
            "format": options.format,
            "visible_chars": taken.visible,
        }
        answer = await self._extract(document, draft, job, seconds)
        if answer is None and taken.visible:
            # Never nothing when there was something to see: the page itself is kept and named.
            document["facts"].insert(0, "page.html holds the whole page")
        recovered = answer is not None and any(note["code"] == RECOVERED for note in answer["warnings"])
        verdict = verdicts.judge(head, taken, options.url, recovered=recovered)
        if verdict.error is not None:
            document["verdict"] = verdict.word
            self._error(document, verdict.error)
            if verdict.word == "challenge":
                # A wall's words are nobody's content; page.html shows them.
                draft.remove("content")
                draft.remove("text")
        elif head is not None and head.status >= 400:
            self._refuse(document, head)
        elif taken.visible == 0 and (answer is None or answer["content"] is None):
            draft.remove("content")
            self._error(document, empty_page(document, len(data)))
        elif not self._keeps_page(options) and answer is not None and answer["content"] is not None:
            draft.remove("page")
        if document["ok"]:
            _comment(document, verdict)

    def _keeps_page(self, options: FetchOptions) -> bool:
        return self._keep_pages or options.keep_page or options.format in ("html", "source")

    async def _file(
        self,
        document: dict[str, Any],
        draft: artifacts.Draft,
        landing: Landing,
        options: FetchOptions,
        seconds: float,
    ) -> None:
        head = landing.head
        if landing.path is None or head is None:
            raise CdpFetchError("download_failed", "Chrome saved no file", "fetch it again")
        declared = head.header("content-type")
        if essence(declared) == "multipart/x-mixed-replace":
            declared = await in_thread(_unwrap, landing.path, declared or "")
        kind = essence(declared)
        name = names.natural_name(head.header("content-disposition"), head.url, kind)
        path = draft.reserve(name)
        size, digest = await in_thread(_take_file, landing.path, path)
        draft.add(path, "original", kind)
        document.update(
            kind="local.file",
            link=head.url,
            title=os.path.basename(path),
            status=head.status,
            content_type=kind,
            bytes=size,
            sha256=digest,
            ok=True,
        )
        if size == 0:
            draft.remove("original")
            raise CdpFetchError("empty_response", f"the server sent an empty body (HTTP {head.status})")
        job = {
            "op": "file",
            "path": path,
            "url": head.url,
            "out_dir": draft.path,
            "content_type": kind,
            "charset": charset(declared),
            "extractor": options.extractor,
            "format": options.format,
        }
        await self._extract(document, draft, job, seconds)
        wall = verdicts.wall_header(head)
        if wall is not None:
            document["verdict"] = "challenge"
            self._error(document, verdicts.challenge(head.url, wall, head))
        elif head.status >= 400:
            self._refuse(document, head)

    async def _extract(
        self, document: dict[str, Any], draft: artifacts.Draft, job: dict[str, Any], seconds: float
    ) -> dict[str, Any] | None:
        """Run a job and enter its answer; a job that fails is a warning, since the bytes are safe."""
        try:
            answer = await self._pool.run(job, max(0.2, seconds * _EXTRACT_SHARE))
        except ExtractionFailed as error:
            log.warning("extraction of %s failed: %s", job["url"], error)
            document["warnings"].append({"code": "extraction_failed", "message": error.reason})
            document["verdict"] = "partial"
            return None
        self._enter(document, draft, answer, prefer_title=job["op"] == "file")
        return answer

    def _enter(
        self, document: dict[str, Any], draft: artifacts.Draft, answer: dict[str, Any], *, prefer_title: bool
    ) -> None:
        """Put a worker's answer into the document."""
        for body in [answer["content"], *answer.get("bodies", [])]:
            if body is not None:
                draft.add(os.path.join(draft.path, body["name"]), body["role"], body["content_type"])
        if answer.get("title") and (prefer_title or not document["title"]):
            document["title"] = answer["title"]
        document["facts"] += answer["facts"]
        document["warnings"] += answer["warnings"]
        for key in ("excerpt", "outline", "coverage"):
            document[key] = answer[key]
        for key in ("meta", "content_type"):
            if answer.get(key):
                document[key] = answer[key]

    def _refuse(self, document: dict[str, Any], head: ResponseHead) -> None:
        """An answer that says no: what came with it is kept, and listed, but it is not a success."""
        document["verdict"] = "error_page"
        self._error(document, http_error(head))

    def _error(self, document: dict[str, Any], error: CdpFetchError) -> None:
        document["ok"] = False
        document["error"] = error.to_json()
        document["attempts"] = [{"source": "local", "code": error.code, "reason": error.reason}]


def empty_page(document: dict[str, Any], size: int) -> CdpFetchError:
    """The error for a page that shows nothing: because it is empty, or because its time was over first."""
    said = {warning["code"]: warning["message"] for warning in reversed(document["warnings"])}
    partial, shell = said.get("partial"), said.get(NEEDS_SCRIPTS)
    if shell is not None:
        document["verdict"] = "thin"
        return CdpFetchError("no_content", shell.partition(";")[0], "let a browser fetch it: --engine browser, or auto")
    if partial is not None:
        return CdpFetchError("timeout", f"the page shows no text: {partial}", "give it longer: --deadline SECONDS")
    document["verdict"] = "thin"
    return CdpFetchError(
        "no_content",
        f"the page is empty: it shows no text (HTTP {document['status']}, {size} bytes of HTML)",
        "look at page.html, or give the page time: --wait-for CSS",
    )


def _comment(document: dict[str, Any], verdict: verdicts.Verdict) -> None:
    """Say in a document that succeeded what there is to say against it."""
    if document["verdict"] == "ok":
        document["verdict"] = verdict.word
    if verdict.warning is not None:
        document["warnings"].append({"code": verdict.warning[0], "message": verdict.warning[1]})


def _is_guessed(taken: Capture, head: ResponseHead | None) -> bool:
    """Whether nothing told the browser the page's encoding, so that it fell back to windows-1252."""
    named = charset(head.header("content-type")) if head is not None else None
    return taken.charset.lower() == "windows-1252" and not taken.charset_declared and named is None


def http_error(head: ResponseHead) -> CdpFetchError:
    """The error for a status of 400 or more."""
    from http import HTTPStatus

    try:
        phrase = f" {HTTPStatus(head.status).phrase}"
    except ValueError:
        phrase = ""
    retry = head.header("retry-after")
    if head.status == 401:
        site = "/".join(head.url.split("/")[:3])
        return CdpFetchError(
            "auth_required", "the server asks for credentials (HTTP 401)", f"sign in: cdpfetch open-browser {site}/"
        )
    if head.status in (429, 503) and retry:
        return CdpFetchError("http_error", f"HTTP {head.status}{phrase}", f"fetch it again later: Retry-After: {retry}")
    return CdpFetchError("http_error", f"HTTP {head.status}{phrase}", "what the server sent is in the bodies")


def _unwrap(path: str, content_type: str) -> str:
    """Leave only the first part of a multipart body in the file; its type, or the whole's when there is no part."""
    with open(path, "rb") as file:
        part = multipart.first_part(file.read(), content_type)
    if part is None:
        return content_type
    with open(path, "wb") as file:
        file.write(part.body)
    return part.content_type or "application/octet-stream"


async def _soon(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work on about ``size`` bytes: at once when that is quicker than the way to a thread and back."""
    return function(*args, **kwargs) if size < _SMALL else await in_thread(function, *args, **kwargs)


def _take_file(source: str, target: str) -> tuple[int, str]:
    """Move a download to its place without overwriting anything: (bytes, SHA-256 in hex).

    What is moved is what was hashed: a regular file with one name, not a link that was put in its place.
    Raises InvalidRequest, OSError.
    """
    digest = hashlib.sha256()
    with open(disk.open_regular(source), "rb") as file:
        info = os.fstat(file.fileno())
        while chunk := file.read(_HASH_CHUNK):
            digest.update(chunk)
        try:
            os.link(source, target, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:
            # Another file system, or one without hard links.
            file.seek(0)
            with open(target, "xb", opener=_private) as copy:
                shutil.copyfileobj(file, copy, _HASH_CHUNK)
        else:
            if not os.path.samestat(os.lstat(target), info):
                os.unlink(target)
                raise InvalidRequest(f"{source} was replaced while it was moved", "fetch it again")
    os.unlink(source)
    return info.st_size, digest.hexdigest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
