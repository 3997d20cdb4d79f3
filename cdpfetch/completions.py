"""One chat completion at an endpoint of OpenAI's shape: asked plainly, tried twice, and read with suspicion."""

from __future__ import annotations

import asyncio
import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from cdpfetch.delivery import one_line
from cdpfetch.errors import CdpFetchError
from cdpfetch.httpanswers import message

if TYPE_CHECKING:
    import httpx

    from cdpfetch.config import Config
    from cdpfetch.httpclient import Client

SECONDS = 60.0
"""For one answer in all, retries and waiting included."""
_MAX_ANSWER = 1 << 20
# Before the second try of what failed in passing, where the endpoint names no time.
_PAUSE = 1.0
# Statuses that may be other in a moment.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
# Errors by which no answer came at all.
_UNHEARD = frozenset({"timeout", "connection_failed", "download_failed"})
# Statuses of endpoints that refuse fields which they don't know, and what they say when it is not about a field.
_PARTICULAR = frozenset({400, 422})
_TOO_LONG = re.compile(r"context.?(length|window|size)|too (long|many tokens)|maximum.{0,20}tokens", re.IGNORECASE)
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


class Endpoint(NamedTuple):
    """Where questions go: ``base_url`` without its last slash; ``official`` is OpenAI's own."""

    base_url: str
    model: str
    key: str | None
    max_tokens: int
    official: bool = False

    def __repr__(self) -> str:
        return f"<Endpoint {self.base_url} {self.model}{' with a key' if self.key else ''}>"


class Said(NamedTuple):
    """An answer: its text, the model that gave it, and whether it is cut off."""

    text: str
    model: str
    cut: bool


async def complete(config: Config, endpoint: Endpoint, system: str, user: str) -> Said:
    """Ask; without a ``system`` text the question is the only message.

    Raises CdpFetchError, whose words never hold the key.
    """
    from cdpfetch.httpclient import open_client

    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    secret = {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    client = open_client(
        config,
        base_url=endpoint.base_url,
        headers={"accept": "application/json"},
        secrets=secret,
        timeout=SECONDS,
        max_bytes=_MAX_ANSWER,
    )
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": user})
    try:
        async with asyncio.timeout_at(end), client:
            return await _Conversation(client, endpoint, messages, end).run()
    except TimeoutError:
        raise CdpFetchError("timeout", f"the model did not answer within {SECONDS:g} s") from None
    except CdpFetchError as error:
        raise CdpFetchError(error.code, _without(error.reason, endpoint.key), error.hint) from None


class _Conversation:
    """The tries of one question: plainer where the endpoint does not know a field, once more where it was busy."""

    def __init__(self, client: Client, endpoint: Endpoint, messages: list[dict[str, str]], end: float) -> None:
        self._client = client
        self._endpoint = endpoint
        self._messages = messages
        self._end = end  # loop time
        self._retried = False

    async def run(self) -> Said:
        variants = _variants(self._endpoint)
        for number, variant in enumerate(variants, 1):
            response = await self._post(variant)
            particular = response.status_code in _PARTICULAR and not _TOO_LONG.search(message(response))
            if not particular or number == len(variants):
                break
        if response.status_code != 200:
            raise _refused(response)
        return _read(response, self._endpoint.model)

    async def _post(self, variant: dict[str, Any]) -> httpx.Response:
        body = {"model": self._endpoint.model, "messages": self._messages, "stream": False, **variant}
        while True:
            pause = _PAUSE
            try:
                # A redirect would tell the document to whoever it names.
                response = await self._client.post(
                    f"{self._endpoint.base_url}/chat/completions", json=body, follow_redirects=False
                )
            except CdpFetchError as error:
                if error.code not in _UNHEARD or not self._may_retry(pause):
                    raise
            else:
                pause = _retry_after(response, time.time()) or _PAUSE
                if response.status_code not in _PASSING or not self._may_retry(pause):
                    return response
            self._retried = True
            await asyncio.sleep(pause)

    def _may_retry(self, pause: float) -> bool:
        return not self._retried and asyncio.get_running_loop().time() + pause < self._end


def _variants(endpoint: Endpoint) -> list[dict[str, Any]]:
    """The fields to try, the best first: thinking costs time, and is switched off where it can be."""
    limit = {"max_tokens": endpoint.max_tokens}
    newer = {"max_completion_tokens": endpoint.max_tokens}
    if endpoint.official:
        return [{**newer, "reasoning_effort": "none"}, {**newer, "reasoning_effort": "minimal"}, newer, limit]
    quiet = {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": False}}
    return [{**limit, **quiet}, {**limit, "chat_template_kwargs": quiet["chat_template_kwargs"]}, limit, newer]


def _read(response: httpx.Response, model: str) -> Said:
    """The answer in a response.  Raises CdpFetchError: it is none, it is empty, the model refuses."""
    try:
        data = json.loads(response.content)
        choice = data["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        text, finish = _text(message.get("content")), choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        seen = one_line(response.text[:2000], 120)
        raise CdpFetchError("download_failed", f"the model's endpoint sent no chat completion: {seen!r}") from None
    if refusal or finish == "content_filter":
        words = f": {one_line(str(refusal), 300)}" if refusal else " (content_filter)"
        raise CdpFetchError("no_content", f"the model refuses to answer{words}")
    text = _THOUGHT.sub("", text).strip()
    cut = finish == "length"
    if not text:
        spent = ": it spent its tokens before it began; raise llm.max_tokens" if cut else ""
        raise CdpFetchError("no_content", f"the model's answer is empty{spent}")
    named = data.get("model")
    return Said(text, one_line(named, 200) if isinstance(named, str) and named else model, cut)


def _text(content: Any) -> str:
    """The text of a message's content: a string, or parts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if part.get("type") in ("text", "output_text"))
    if content is not None and not isinstance(content, str):
        raise TypeError("no text")
    return content or ""


def _refused(response: httpx.Response) -> CdpFetchError:
    status = response.status_code
    said = f": {words}" if (words := message(response)) else ""
    if status in (401, 403):
        hint = "set llm.api_key, or llm.api_key_env to the name of the variable that holds the key"
        return CdpFetchError("auth_required", f"the model's endpoint refuses the key (HTTP {status}){said}", hint)
    if 300 <= status < 400:
        return CdpFetchError("http_error", f"the model's endpoint redirects (HTTP {status})", "check llm.base_url")
    if status == 429:
        later = response.headers.get("retry-after")
        hint = f"ask again later (Retry-After: {one_line(later, 60)})" if later else "ask again later"
        return CdpFetchError("http_error", f"the model's endpoint is busy (HTTP 429){said}", hint)
    wrong = "check llm.base_url and llm.model" if status in (400, 404, 405, 422) else None
    return CdpFetchError("http_error", f"the model's endpoint answers HTTP {status}{said}", wrong)


def _retry_after(response: httpx.Response, now: float) -> float | None:
    """Seconds that a response asks to wait, or None (RFC 9110, section 10.2.3)."""
    value = response.headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _without(text: str, key: str | None) -> str:
    return text.replace(key, "[key]") if key else text
