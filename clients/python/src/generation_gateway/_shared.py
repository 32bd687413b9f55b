"""What the client and its asyncio version have in common: options, retries, names of files, events of streams."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import time
import uuid
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

import httpx

from ._errors import APIConnectionError, APIError, APITimeoutError
from .generated.types import BatchResult, Task

log = logging.getLogger("generation_gateway")

Headers = Mapping[str, str]


T = TypeVar("T")


class Config:
    """The options of a client; those that are missing come from the environment."""

    def __init__(
        self, base_url: str | None, api_key: str | None, timeout: float, max_retries: int, headers: Headers | None
    ) -> None:
        base_url = base_url or os.environ.get("GATEWAY_URL")
        api_key = api_key or os.environ.get("GATEWAY_KEY")
        if not base_url:
            raise ValueError("the gateway's address is missing: base_url, or the variable GATEWAY_URL")
        if not api_key:
            raise ValueError("the key is missing: api_key, or the variable GATEWAY_KEY")
        if not re.match("https?:", base_url):
            raise ValueError(f"the gateway's address does not begin with http:// or https://: {base_url}")
        self.origin = re.sub(r"/+(v1/*)?$", "", base_url)
        # A key that was read from a file ends with a line break.
        api_key = api_key.strip()
        self.api_key = api_key
        self.timeout = timeout
        self.max_retries = max_retries
        self.headers = {"authorization": f"Bearer {api_key}", **(headers or {})}


def is_repeatable(method: str, path: str) -> bool:
    """False if a repeat could do the work twice: chats, payments, rotations and an operator's changes have no key."""
    return not re.match(r"P.*/(chat|pay|admin|webhook_)", method + path, re.IGNORECASE)


def pause_before_repeat(error: Exception, attempt: int, max_retries: int, can_be_twice: bool) -> float | None:
    """Seconds until the request is repeated, or None if it must not be."""
    if attempt >= max_retries:
        return None
    retry_after = None
    if isinstance(error, APIError):
        if error.status not in (408, 429) and error.status < 500:
            return None
        # Only a gateway that is busy says that the work was not done.
        if error.status >= 500 and not can_be_twice and (error.status != 503 or error.code is None):
            return None
        retry_after = error.retry_after
    elif not isinstance(error, APIConnectionError):
        return None
    elif not can_be_twice and not isinstance(error.__cause__, (httpx.ConnectError, httpx.ConnectTimeout)):
        return None
    return min(retry_after if retry_after is not None else 2**attempt / 2, 60) * (1 + random.random() / 4)


def to_connection_error(error: httpx.HTTPError, has_begun: bool) -> APIConnectionError:
    if isinstance(error, httpx.TimeoutException):
        return APITimeoutError("no answer within the time limit", has_begun=has_begun)
    return APIConnectionError("the answer was cut" if has_begun else "the gateway cannot be reached", has_begun=has_begun)


def present(query: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters that are set."""
    return {name: value for name, value in (query or {}).items() if value is not None}


def part(name: str) -> str:
    """A name as one part of a path: it never leads to another path, as slashes, dots or nothing would."""
    return quote(name, safe="") if name.strip(".") else "-"


def with_key(idempotency_key: str | None) -> dict[str, str]:
    return {"idempotency-key": idempotency_key or str(uuid.uuid4())}


def file_name(url: str, headers: Headers) -> str:
    disposition = headers.get("content-disposition", "")
    coded = re.search(r"filename\*=UTF-8''([^;]+)", disposition, re.IGNORECASE)
    plain = re.search(r'filename="?([^";]+)', disposition)
    name = unquote(coded.group(1)) if coded else plain.group(1) if plain else unquote(urlsplit(url).path.rsplit("/", 1)[-1])
    # A name never leads to another folder.
    return name.replace("\\", "/").rsplit("/", 1)[-1] or "file"


def urls_of(task: Task) -> list[str]:
    # Which of the three results it is, is known by its fields alone.
    result = cast("dict[str, Any] | None", task.get("result"))
    if not result:
        raise ValueError("the task has no files: it is not completed")
    if "type" in result:
        return [character["profile_picture_url"] for character in result["data"]["characters"]]
    videos: list[dict[str, Any]] = result.get("videos") or []
    made: list[dict[str, Any]] = [*(result.get("images") or []), *videos, *(result.get("files") or [])]
    return [*(url for file in made for url in file["url"]), *(video["thumbnail"] for video in videos if "thumbnail" in video)]


def pause_before_reconnection(empty: int, began: float, task_id: str) -> tuple[int, float]:
    """Streams in a row that ended at once without a state, and seconds until the next one. Raises after five."""
    # A state may last longer than a stream, but not every stream ends at once without one.
    if time.monotonic() - began > 60:
        empty = 0
    if empty > 4:
        raise APIConnectionError(f"the events of {task_id} do not arrive", has_begun=True)
    return empty, 2 ** max(empty - 1, 0) / 2


def is_final(task: Task) -> bool:
    return task["status"] in ("completed", "failed")


class EventReader:
    """Collects the lines of a stream into events."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def take(self, line: str) -> dict[str, str] | None:
        """The event that this line ends, if it has data."""
        if line == "":
            event, self._fields = self._fields, {}
            return event if "data" in event else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in self._fields:
            value = f"{self._fields['data']}\n{value}"
        self._fields[name] = value
        return None


def to_result(line: str) -> BatchResult:
    result: BatchResult = json.loads(line)
    return result
