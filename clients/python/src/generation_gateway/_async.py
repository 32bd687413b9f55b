"""The client for asyncio. `_sync.py`, the same without asyncio, is made from this file when the package is built."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Generic, Literal, overload

import httpx

from ._errors import APIConnectionError, APITimeoutError, DeliveryFailedError, TaskFailedError, to_error
from ._shared import (
    Config,
    EventReader,
    Headers,
    T,
    file_name,
    is_final,
    is_repeatable,
    log,
    part,
    pause_before_reconnection,
    pause_before_repeat,
    present,
    to_connection_error,
    to_result,
    urls_of,
    with_key,
)
from ._values import FileSource, is_file, read_source
from .generated import types as t

OnProgress = Callable[[t.Task], None]
# Classes with a method `list` need another name for the type.
list_ = list


class AsyncStream(Generic[T]):
    """A stream of values. Iterate it once, or use it as a context manager to end it early."""

    def __init__(self, response: httpx.Response, source: AsyncIterator[T]) -> None:
        self.response = response
        self._source = source

    def __aiter__(self) -> AsyncIterator[T]:
        return self._source

    async def close(self) -> None:
        """Ends the request."""
        await self.response.aclose()

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


class AsyncList(Generic[T]):
    """A list: iterate it for every row of every page, or get one page."""

    def __init__(self, fetch: Callable[[str | None], Awaitable[dict[str, Any]]]) -> None:
        self._fetch = fetch

    async def page(self, after: str | None = None) -> list[T]:
        """The first rows, or those after the row with this id."""
        rows: list[T] = (await self._fetch(after))["data"]
        return rows

    async def __aiter__(self) -> AsyncIterator[T]:
        after: str | None = None
        while True:
            page = await self._fetch(after)
            rows: list[Any] = page["data"]
            for row in rows:
                yield row
            after = page.get("next_after") or (rows[-1]["id"] if rows else None)
            if not page.get("has_more") or after is None:
                return


class AsyncDownload:
    """A file whose head is known. `read`, `iter_bytes` or `save` it: the file is requested then."""

    def __init__(self, http: _AsyncHttp, url: str, headers: Headers) -> None:
        self._http = http
        self._etag = headers.get("etag")
        self.url = url
        self.name = file_name(url, headers)
        self.type: str = headers.get("content-type", "application/octet-stream")
        length = headers.get("content-length")
        self.size = int(length) if length else None
        """Bytes; None if the answer does not say."""

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        """The bytes as they arrive. A cut connection is continued where it ended."""
        received, cuts = 0, 0
        while True:
            headers = {"range": f"bytes={received}-", **({"if-range": self._etag} if self._etag else {})} if received else None
            response = await self._http.open("GET", self.url, headers=headers)
            try:
                if received and response.status_code != 206:
                    break
                async for part in response.aiter_raw():
                    received += len(part)
                    cuts = 0
                    yield part
                if self.size is None or received == self.size:
                    return
                raise APIConnectionError("the file was cut", has_begun=True)
            except (httpx.HTTPError, APIConnectionError) as error:
                cuts += 1
                if cuts > 3:
                    raise APIConnectionError("the file was cut", has_begun=True) from error
            finally:
                await response.aclose()
        # Another file by now: the parts do not belong together.
        raise APIConnectionError("the file was cut, and has changed", has_begun=True)

    async def read(self) -> bytes:
        """The whole file. Of files that are read whole or saved at once four are open at a time."""
        async with self._http.turns:
            return b"".join([part async for part in self.iter_bytes()])

    async def save(self, path: str | os.PathLike[str] | None = None) -> str:
        """Writes the file to the disk, by default under its name in the current folder. Returns the path.

        Until it is whole its name is `{path}.part`.
        """
        target = os.fspath(path) if path is not None else self.name
        partial = f"{target}.part"
        try:
            async with self._http.turns:
                with open(partial, "wb") as file:
                    async for part in self.iter_bytes():
                        await asyncio.to_thread(file.write, part)
            os.replace(partial, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)
            raise
        return target


class _AsyncHttp:
    """Requests to the gateway: time limits, retries, errors."""

    def __init__(self, config: Config, client: httpx.AsyncClient | None) -> None:
        self.config = config
        self.client = client or httpx.AsyncClient()
        self.turns = asyncio.Semaphore(4)

    async def close(self) -> None:
        await self.client.aclose()

    async def json(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | None = None,
        query: dict[str, Any] | None = None,
        headers: Headers | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The parsed answer. What did not arrive whole, or was answered as busy or faulty, is repeated with growing pauses."""
        call: dict[str, Any] = {"json": body} if body is not None else {"content": content} if content is not None else {}

        async def read(response: httpx.Response) -> Any:
            try:
                text = await response.aread()
                return json.loads(text) if text else None
            except ValueError as error:
                # Cut, or not the gateway's.
                raise APIConnectionError("the answer is not whole", has_begun=True) from error
            finally:
                await response.aclose()

        return await self._send(method, path, query, headers, timeout, call, read)

    async def open(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: dict[str, Any] | None = None,
        headers: Headers | None = None,
        timeout: float | None = None,
    ) -> httpx.Response:
        """The answer as soon as its head is there."""

        async def read(response: httpx.Response) -> httpx.Response:
            return response

        call: dict[str, Any] = {"json": body} if body is not None else {}
        response: httpx.Response = await self._send(method, path, query, headers, timeout, call, read)
        return response

    async def _send(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None,
        headers: Headers | None,
        timeout: float | None,
        call: dict[str, Any],
        read: Callable[[httpx.Response], Awaitable[Any]],
    ) -> Any:
        origin = self.config.origin
        url = path if "://" in path else origin + path
        # A key is sent to the API alone, not with links to files.
        own = self.config.headers if path.startswith("/") or url.startswith(f"{origin}/v1/") else {}
        attempt = 0
        while True:
            # A repeat does not wait for the task: the key may have the maximum of waits open.
            asked = present({**(query or {}), **({"wait": None} if attempt else {})})
            try:
                return await self._attempt(method, url, asked, {**own, **(headers or {})}, timeout or self.config.timeout, call, read)
            except Exception as error:
                pause = pause_before_repeat(error, attempt, self.config.max_retries, is_repeatable(method, path))
                if pause is None:
                    raise
                log.warning("%s %s: %s; again in %.1f s", method, path, error, pause)
            await asyncio.sleep(pause)
            attempt += 1

    async def _attempt(
        self,
        method: str,
        url: str,
        query: dict[str, Any],
        headers: dict[str, str],
        timeout: float,
        call: dict[str, Any],
        read: Callable[[httpx.Response], Awaitable[Any]],
    ) -> Any:
        # Without compression: a file is continued at a place in its bytes.
        request = self.client.build_request(
            method, url, params=query or None, headers={"accept-encoding": "identity", **headers}, timeout=timeout, **call
        )
        response: httpx.Response | None = None
        try:
            response = await self.client.send(request, stream=True)
            log.debug("%s %s %d, %s", method, request.url.path, response.status_code, response.headers.get("x-request-id"))
            if not response.is_success:
                text = (await response.aread()).decode(errors="replace")
                await response.aclose()
                raise to_error(response.status_code, response.headers, text)
            return await read(response)
        except httpx.HTTPError as error:
            raise to_connection_error(error, response is not None) from error

    async def head(self, link: str) -> AsyncDownload:
        """A file by its link, or a path of this gateway."""
        url = link if "://" in link else self.config.origin + link
        # Only links of this gateway answer HEAD for sure: one that is signed for GET alone does not.
        response = await self.open("HEAD" if url.startswith(f"{self.config.origin}/") else "GET", url)
        await response.aclose()
        return AsyncDownload(self, url, response.headers)

    async def upload(self, source: FileSource, expires_in: int | None = None) -> t.StoredFile:
        content = await asyncio.to_thread(read_source, source)
        stored: t.StoredFile = await self.json(
            "POST", "/v1/files", content=content, query={"expires_in": expires_in}, headers={"content-type": "application/octet-stream"}
        )
        return stored

    def list(self, path: str, query: dict[str, Any]) -> Callable[[str | None], Awaitable[dict[str, Any]]]:
        async def fetch(after: str | None) -> dict[str, Any]:
            page: dict[str, Any] = await self.json("GET", path, query={**query, "after": after})
            return page

        return fetch


class _Submissions:
    def __init__(self, http: _AsyncHttp) -> None:
        self._http = http

    async def _submit(self, path: str, body: Any, idempotency_key: str | None, deliver_to: t.DeliverTo | None) -> t.Submission:
        submission: t.Submission = await self._post(path, body, idempotency_key, deliver_to)
        return submission

    async def _post(self, path: str, body: Any, idempotency_key: str | None, deliver_to: t.DeliverTo | None) -> Any:
        sent = {**await self._uploaded(body), **({"deliver_to": deliver_to} if deliver_to else {})}
        return await self._http.json("POST", path, body=sent, headers=with_key(idempotency_key))

    async def _uploaded(self, value: Any) -> Any:
        """A copy of a body in which ids of uploaded files have taken the place of files."""
        if isinstance(value, dict):
            return {name: await self._uploaded(item) for name, item in value.items()}
        if isinstance(value, list):
            return [await self._uploaded(item) for item in value]
        return (await self._http.upload(value))["id"] if is_file(value) else value

    async def _finish(self, submission: t.Submission, on_progress: OnProgress | None, deliver_to: t.DeliverTo | None) -> t.Task:
        task = await _wait(self._http, submission["id"], on_progress)
        while deliver_to and task.get("delivery", {}).get("status") == "pending":
            await asyncio.sleep(2)
            task = (await self._http.json("GET", f"/v1/tasks/{part(task['id'])}"))["data"]
        if deliver_to and task.get("delivery", {}).get("status") == "failed":
            raise DeliveryFailedError(task)
        return task


async def _wait(http: _AsyncHttp, task_id: str, on_progress: OnProgress | None) -> t.Task:
    last = -1
    # Held for half of the time limit at most, within which the answer has to begin.
    wait = max(1, min(3 if on_progress else 30, int(http.config.timeout / 2)))
    while True:
        task: t.Task = (await http.json("GET", f"/v1/tasks/{part(task_id)}", query={"wait": wait}))["data"]
        if on_progress and task["progress"] > last:
            on_progress(task)
        last = task["progress"]
        if task["status"] == "completed":
            return task
        if task["status"] == "failed":
            raise TaskFailedError(task)


class AsyncImages(_Submissions):
    async def create(
        self, body: t.ImageRequest, *, idempotency_key: str | None = None, deliver_to: t.DeliverTo | None = None
    ) -> t.Submission:
        """Submits and returns the task at once. The same key and body are one task and one charge for 24 hours."""
        return await self._submit("/v1/images/generations", body, idempotency_key, deliver_to)

    async def generate(
        self,
        body: t.ImageRequest,
        *,
        on_progress: OnProgress | None = None,
        idempotency_key: str | None = None,
        deliver_to: t.DeliverTo | None = None,
    ) -> t.Task:
        """Submits and waits until the images are there. Raises `TaskFailedError`."""
        submission = await self.create(body, idempotency_key=idempotency_key, deliver_to=deliver_to)
        return await self._finish(submission, on_progress, deliver_to)


class AsyncVideos(_Submissions):
    async def create(
        self, body: t.NewVideoRequest | t.OtherVideoRequest, *, idempotency_key: str | None = None, deliver_to: t.DeliverTo | None = None
    ) -> t.Submission:
        """Submits and returns the task at once."""
        return await self._submit("/v1/videos/generations", body, idempotency_key, deliver_to)

    async def generate(
        self,
        body: t.NewVideoRequest | t.OtherVideoRequest,
        *,
        on_progress: OnProgress | None = None,
        idempotency_key: str | None = None,
        deliver_to: t.DeliverTo | None = None,
    ) -> t.Task:
        """Submits and waits until the video is there. Raises `TaskFailedError`."""
        submission = await self.create(body, idempotency_key=idempotency_key, deliver_to=deliver_to)
        return await self._finish(submission, on_progress, deliver_to)

    async def create_remix(
        self, video_id: str, body: t.RemixRequest, *, idempotency_key: str | None = None, deliver_to: t.DeliverTo | None = None
    ) -> t.Submission:
        """Submits a remix of the video of an earlier task."""
        return await self._submit(f"/v1/videos/{part(video_id)}/remix", body, idempotency_key, deliver_to)

    async def remix(
        self,
        video_id: str,
        body: t.RemixRequest,
        *,
        on_progress: OnProgress | None = None,
        idempotency_key: str | None = None,
        deliver_to: t.DeliverTo | None = None,
    ) -> t.Task:
        """Remixes the video of an earlier task, and waits."""
        submission = await self.create_remix(video_id, body, idempotency_key=idempotency_key, deliver_to=deliver_to)
        return await self._finish(submission, on_progress, deliver_to)


class AsyncCharacters(_Submissions):
    async def create(
        self, body: t.CharacterRequest, *, idempotency_key: str | None = None, deliver_to: t.DeliverTo | None = None
    ) -> t.Submission:
        """Submits the making of a character from a video."""
        return await self._submit("/v1/videos/generations", body, idempotency_key, deliver_to)

    async def generate(
        self,
        body: t.CharacterRequest,
        *,
        on_progress: OnProgress | None = None,
        idempotency_key: str | None = None,
        deliver_to: t.DeliverTo | None = None,
    ) -> t.Task:
        """Makes a character from a video, and waits."""
        submission = await self.create(body, idempotency_key=idempotency_key, deliver_to=deliver_to)
        return await self._finish(submission, on_progress, deliver_to)

    def list(self, *, limit: int | None = None) -> AsyncList[t.SavedCharacter]:
        return AsyncList(self._http.list("/v1/characters", {"limit": limit}))

    async def delete(self, character_id: str) -> None:
        await self._http.json("DELETE", f"/v1/characters/{part(character_id)}")


class AsyncTasks(_Submissions):
    async def create(
        self, body: t.TaskRequest, *, idempotency_key: str | None = None, deliver_to: t.DeliverTo | None = None
    ) -> t.Submission:
        """Submits to a model of any kind but text, such as one with its own `input`."""
        return await self._submit("/v1/tasks", body, idempotency_key, deliver_to)

    async def generate(
        self,
        body: t.TaskRequest,
        *,
        on_progress: OnProgress | None = None,
        idempotency_key: str | None = None,
        deliver_to: t.DeliverTo | None = None,
    ) -> t.Task:
        """Submits and waits until the task is completed. Raises `TaskFailedError`."""
        submission = await self.create(body, idempotency_key=idempotency_key, deliver_to=deliver_to)
        return await self._finish(submission, on_progress, deliver_to)

    async def retrieve(self, task_id: str) -> t.Task:
        task: t.Task = (await self._http.json("GET", f"/v1/tasks/{part(task_id)}"))["data"]
        return task

    def list(
        self,
        *,
        limit: int | None = None,
        status: t.TaskStatus | None = None,
        kind: t.TaskKind | None = None,
        model: str | None = None,
        reference: str | None = None,
    ) -> AsyncList[t.Task]:
        query = {"limit": limit, "status": status, "kind": kind, "model": model, "reference": reference}
        return AsyncList(self._http.list("/v1/tasks", query))

    async def wait(self, task_id: str, *, on_progress: OnProgress | None = None) -> t.Task:
        """Waits until the task is completed. Raises `TaskFailedError`."""
        return await _wait(self._http, task_id, on_progress)

    async def stream(self, task_id: str) -> AsyncIterator[t.Task]:
        """The task, at every change until it is final. A cut stream is continued."""
        last: str | None = None
        empty = 0
        while True:
            headers = {"last-event-id": last} if last else None
            began = time.monotonic()
            response = await self._http.open("GET", f"/v1/tasks/{part(task_id)}/events", headers=headers)
            # The final state was already sent.
            if response.status_code == 204:
                return
            reader = EventReader()
            empty += 1
            try:
                async for line in response.aiter_lines():
                    event = reader.take(line)
                    if event is None:
                        continue
                    empty = 0
                    last = event.get("id")
                    task: t.Task = json.loads(event["data"])
                    yield task
                    if is_final(task):
                        return
            except httpx.HTTPError as error:
                log.warning("the stream of %s was cut: %s", task_id, error)
            finally:
                await response.aclose()
            empty, pause = pause_before_reconnection(empty, began, task_id)
            await asyncio.sleep(pause)

    async def cancel(self, task_id: str) -> t.Task:
        task: t.Task = (await self._http.json("POST", f"/v1/tasks/{part(task_id)}/cancel"))["data"]
        return task

    async def delete(self, task_id: str) -> None:
        await self._http.json("DELETE", f"/v1/tasks/{part(task_id)}")

    async def deliver(self, task_id: str) -> t.Task:
        """Delivers at once the files that have not arrived in the bucket, or all again. Returns the task, whose `delivery` tells how it goes."""
        task: t.Task = (await self._http.json("POST", f"/v1/tasks/{part(task_id)}/delivery"))["data"]
        return task

    async def receipt(self, task_id: str) -> t.ReceiptAnswer:
        receipt: t.ReceiptAnswer = await self._http.json("GET", f"/v1/tasks/{part(task_id)}/receipt")
        return receipt

    async def download(self, task: t.Task) -> list_[AsyncDownload]:
        """The files of a completed task: images, a video with its thumbnail, or a character's image. Links are valid for 24 hours."""
        return [await self._http.head(url) for url in urls_of(task)]


class AsyncCompletions:
    def __init__(self, http: _AsyncHttp) -> None:
        self._http = http

    @overload
    async def create(self, body: t.ChatRequest, *, stream: Literal[True]) -> AsyncStream[t.ChatCompletionChunk]: ...
    @overload
    async def create(self, body: t.ChatRequest, *, stream: Literal[False] = False) -> t.ChatCompletion: ...
    async def create(self, body: t.ChatRequest, *, stream: bool = False) -> t.ChatCompletion | AsyncStream[t.ChatCompletionChunk]:
        """Answers a conversation, whole or as a stream of chunks. Not repeated once it may have begun: it was paid for."""
        sent = {**body, "stream": stream}
        if not stream:
            answer: t.ChatCompletion = await self._http.json("POST", "/v1/chat/completions", body=sent)
            return answer
        response = await self._http.open("POST", "/v1/chat/completions", body=sent)
        return AsyncStream(response, _chunks(response))


async def _chunks(response: httpx.Response) -> AsyncIterator[t.ChatCompletionChunk]:
    reader = EventReader()
    try:
        async for line in response.aiter_lines():
            event = reader.take(line)
            if event is None:
                continue
            if event["data"] == "[DONE]":
                return
            chunk: Any = json.loads(event["data"])
            if "error" in chunk:
                raise to_error(500, response.headers, event["data"])
            yield chunk
    except httpx.TimeoutException as error:
        raise APITimeoutError("the stream stopped", has_begun=True) from error
    except httpx.HTTPError as error:
        raise APIConnectionError("the stream was cut", has_begun=True) from error
    finally:
        await response.aclose()
    raise APIConnectionError("the stream was cut before its end", has_begun=True)


class AsyncChat:
    def __init__(self, http: _AsyncHttp) -> None:
        self.completions = AsyncCompletions(http)


class AsyncFiles:
    def __init__(self, http: _AsyncHttp) -> None:
        self._http = http

    async def upload(self, source: FileSource, *, expires_in: int | None = None) -> t.StoredFile:
        """Uploads a path, bytes or an open file. The answer's `id` stands in place of a URL in every body."""
        return await self._http.upload(source, expires_in)

    def list(self, *, limit: int | None = None) -> AsyncList[t.StoredFile]:
        return AsyncList(self._http.list("/v1/files", {"limit": limit}))

    async def retrieve(self, file_id: str) -> t.StoredFile:
        stored: t.StoredFile = await self._http.json("GET", f"/v1/files/{part(file_id)}")
        return stored

    async def download(self, file_id: str) -> AsyncDownload:
        return await self._http.head(f"{self._http.config.origin}/v1/files/{part(file_id)}/content")

    async def delete(self, file_id: str) -> None:
        await self._http.json("DELETE", f"/v1/files/{part(file_id)}")


class AsyncBatches(_Submissions):
    async def create(
        self, body: t.NewBatch, *, idempotency_key: str | None = None, deliver_to: t.DeliverTo | None = None
    ) -> t.Batch:
        """Begins a batch of `requests`, or of an uploaded file of JSON lines (`input_file`)."""
        batch: t.Batch = await self._post("/v1/batches", body, idempotency_key, deliver_to)
        return batch

    def list(self, *, limit: int | None = None) -> AsyncList[t.Batch]:
        return AsyncList(self._http.list("/v1/batches", {"limit": limit}))

    async def retrieve(self, batch_id: str) -> t.Batch:
        batch: t.Batch = await self._http.json("GET", f"/v1/batches/{part(batch_id)}")
        return batch

    async def cancel(self, batch_id: str) -> t.Batch:
        batch: t.Batch = await self._http.json("POST", f"/v1/batches/{part(batch_id)}/cancel")
        return batch

    async def deliver(self, batch_id: str) -> t.Batch:
        """Delivers again the files of completed lines that have not arrived. Returns the batch, whose `deliveries` tells how it goes."""
        batch: t.Batch = await self._http.json("POST", f"/v1/batches/{part(batch_id)}/delivery")
        return batch

    async def wait(self, batch_id: str, *, on_progress: Callable[[t.Batch], None] | None = None) -> t.Batch:
        """Waits until the batch has ended, whatever its status."""
        while True:
            batch = await self.retrieve(batch_id)
            if on_progress:
                on_progress(batch)
            if "ended_at" in batch:
                return batch
            await asyncio.sleep(3)

    async def results(self, batch_id: str) -> AsyncIterator[t.BatchResult]:
        """The results that are there, in the order of the input, while they arrive. A cut answer is continued."""
        # How often a line of each id was returned: two lines may have the same one, or none.
        returned: dict[str | None, int] = {}
        cuts = 0
        while True:
            seen: dict[str | None, int] = {}
            response = await self._http.open("GET", f"/v1/batches/{part(batch_id)}/results")
            try:
                async for line in response.aiter_lines():
                    if not line:
                        continue
                    result = to_result(line)
                    own = result["custom_id"]
                    seen[own] = seen.get(own, 0) + 1
                    if seen[own] > returned.get(own, 0):
                        returned[own] = seen[own]
                        yield result
                return
            except (httpx.HTTPError, ValueError) as error:
                cuts += 1
                if cuts > 3:
                    raise APIConnectionError("the results were cut", has_begun=True) from error
            finally:
                await response.aclose()


class AsyncAccount:
    """The key and its limits, the balances, and what was used."""

    def __init__(self, http: _AsyncHttp) -> None:
        self._http = http

    async def key(self) -> t.OwnKey:
        key: t.OwnKey = await self._http.json("GET", "/v1/key")
        return key

    async def balance(self) -> t.Balance:
        balance: t.Balance = await self._http.json("GET", "/v1/user/balance")
        return balance

    async def key_balance(self) -> t.Balance:
        balance: t.Balance = await self._http.json("GET", "/v1/balance")
        return balance

    async def usage(
        self, *, start: str | None = None, to: str | None = None, group_by: Literal["day", "model", "key", "reference"] | None = None
    ) -> t.UsageList:
        usage: t.UsageList = await self._http.json("GET", "/v1/usage", query={"from": start, "to": to, "group_by": group_by})
        return usage


class AsyncDestinations:
    def __init__(self, http: _AsyncHttp) -> None:
        self._http = http

    async def list(self) -> list_[t.Destination]:
        destinations: list_[t.Destination] = (await self._http.json("GET", "/v1/destinations"))["data"]
        return destinations

    async def retrieve(self, name: str) -> t.Destination:
        destination: t.Destination = await self._http.json("GET", f"/v1/destinations/{part(name)}")
        return destination

    async def set(self, name: str, body: t.DestinationChange) -> t.Destination:
        destination: t.Destination = await self._http.json("PUT", f"/v1/destinations/{part(name)}", body=body)
        return destination

    async def delete(self, name: str) -> None:
        await self._http.json("DELETE", f"/v1/destinations/{part(name)}")

    async def test(self, name: str) -> t.DestinationTest:
        result: t.DestinationTest = await self._http.json("POST", f"/v1/destinations/{part(name)}/test")
        return result


class AsyncWebhook:
    def __init__(self, http: _AsyncHttp) -> None:
        self._http = http

    async def retrieve(self) -> t.Webhook:
        webhook: t.Webhook = await self._http.json("GET", "/v1/webhook")
        return webhook

    async def set(self, url: str | None) -> t.Webhook:
        webhook: t.Webhook = await self._http.json("PUT", "/v1/webhook", body={"url": url})
        return webhook

    async def test(self) -> t.WebhookTest:
        result: t.WebhookTest = await self._http.json("POST", "/v1/webhook/test")
        return result

    async def secret(self) -> t.WebhookSecret:
        secret: t.WebhookSecret = await self._http.json("GET", "/v1/webhook_secret")
        return secret

    async def rotate_secret(self) -> t.WebhookSecret:
        """A new secret; the one until now signs too for a day. Not repeated after a cut: a second rotation would end it."""
        secret: t.WebhookSecret = await self._http.json("POST", "/v1/webhook_secret")
        return secret

    def events(self, *, limit: int | None = None) -> AsyncList[t.EndEvent]:
        """The ends of tasks in the last seven days."""
        return AsyncList(self._http.list("/v1/events", {"limit": limit}))


class AsyncModels:
    def __init__(self, http: _AsyncHttp) -> None:
        self._http = http

    async def list(self) -> list_[t.Model]:
        models: list_[t.Model] = (await self._http.json("GET", "/v1/models"))["data"]
        return models

    async def retrieve(self, name: str) -> t.Model:
        model: t.Model = await self._http.json("GET", f"/v1/models/{part(name)}")
        return model


class AsyncGateway:
    """A client of the gateway. `base_url` and `api_key` default to the variables `GATEWAY_URL` and `GATEWAY_KEY`.

    `timeout` is in seconds: until a connection is there, and until the next bytes. `http_client` is an own client of httpx.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 120,
        max_retries: int = 4,
        headers: Headers | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._http = _AsyncHttp(Config(base_url, api_key, timeout, max_retries, headers), http_client)
        self.images = AsyncImages(self._http)
        self.videos = AsyncVideos(self._http)
        self.characters = AsyncCharacters(self._http)
        self.tasks = AsyncTasks(self._http)
        self.chat = AsyncChat(self._http)
        self.files = AsyncFiles(self._http)
        self.batches = AsyncBatches(self._http)
        self.account = AsyncAccount(self._http)
        self.models = AsyncModels(self._http)
        self.destinations = AsyncDestinations(self._http)
        self.webhook = AsyncWebhook(self._http)

    async def estimate(self, body: t.EstimateRequest) -> t.DryRun:
        """The price of a submission or chat, or the error that it would get. Nothing is made."""
        estimate: t.DryRun = await self._http.json("POST", "/v1/estimates", body=body)
        return estimate

    async def create_token(self, body: t.NewClientToken) -> t.ClientToken:
        """A client token, for code in a browser."""
        token: t.ClientToken = await self._http.json("POST", "/v1/tokens", body=body)
        return token

    async def request(self, method: str, path: str, *, query: dict[str, Any] | None = None, body: Any = None) -> Any:
        """Any other call: a path of the API with its method. Returns the parsed answer."""
        # Of the same key, so that a repeat is not another task.
        own = with_key(None) if method.upper() == "POST" else None
        return await self._http.json(method, path, query=query, body=body, headers=own)

    async def download(self, url: str) -> AsyncDownload:
        """A file by its link, or a path of this gateway."""
        return await self._http.head(url)

    def with_options(
        self, *, timeout: float | None = None, max_retries: int | None = None, headers: Headers | None = None
    ) -> AsyncGateway:
        """The same client with other options, for some calls: `gateway.with_options(timeout=5).models.list()`."""
        config = self._http.config
        return AsyncGateway(
            config.origin,
            config.api_key,
            timeout=config.timeout if timeout is None else timeout,
            max_retries=config.max_retries if max_retries is None else max_retries,
            headers={**config.headers, **(headers or {})},
            http_client=self._http.client,
        )

    async def close(self) -> None:
        await self._http.close()

    async def __aenter__(self) -> AsyncGateway:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
