"""From a submission to its files: submits once, retries, waits, downloads. Each function has a sync and an async version."""

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

import httpx

from .generated.api.generations import create_image, create_video, remix_video
from .generated.api.tasks import get_task
from .generated.client import AuthenticatedClient
from .generated.models import (
    ImageRequest,
    Task,
    VidA2ProRemixRequest,
    VidA2ProRequest,
    VidA2RemixRequest,
    VidA2Request,
    VidBRequest,
    VidCRequest,
    VidDRequest,
)

Request = (
    ImageRequest
    | VidA2ProRequest
    | VidA2Request
    | VidBRequest
    | VidCRequest
    | VidDRequest
    | VidA2ProRemixRequest
    | VidA2RemixRequest
)
OnProgress = Callable[[Task], None]
# The next action: a call of the API, or a number of seconds to sleep.
_Step = tuple[ModuleType, dict[str, Any]] | float
_Plan = Generator[_Step, Any, Any]


class GatewayError(Exception):
    """The gateway answered with an error. `body` is its answer, with each violated field in `error.details`."""

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body
        error = body.get("error") if isinstance(body, dict) else None
        super().__init__(f"{error['code']}: {error['message']}" if error else f"HTTP {status}")


class TaskFailed(Exception):
    """The task failed; it cost nothing."""

    def __init__(self, task: Task) -> None:
        self.task = task
        super().__init__(f"{task.error.code}: {task.error.message}" if task.error else task.status)


def submit_and_wait(
    client: AuthenticatedClient,
    request: Request,
    *,
    of: str | None = None,
    idempotency_key: str | None = None,
    on_progress: OnProgress | None = None,
) -> Task:
    """Submits and waits until the task is completed. `of` is the task that a remix changes.

    The same `idempotency_key` and request are one task and one charge for 24 hours. Raises `GatewayError` when it is refused and
    `TaskFailed` when it fails.
    """
    return _drive(client, _submission(request, of, idempotency_key, on_progress))


async def submit_and_wait_async(
    client: AuthenticatedClient,
    request: Request,
    *,
    of: str | None = None,
    idempotency_key: str | None = None,
    on_progress: OnProgress | None = None,
) -> Task:
    """As `submit_and_wait`."""
    return await _drive_async(client, _submission(request, of, idempotency_key, on_progress))


def wait_for_task(client: AuthenticatedClient, task_id: str, on_progress: OnProgress | None = None) -> Task:
    """Waits until a task is completed. Raises `TaskFailed` when it fails."""
    return _drive(client, _waiting(task_id, on_progress))


async def wait_for_task_async(client: AuthenticatedClient, task_id: str, on_progress: OnProgress | None = None) -> Task:
    """As `wait_for_task`."""
    return await _drive_async(client, _waiting(task_id, on_progress))


def download(task: Task) -> list[bytes]:
    """The files of a completed task: images, a video with its thumbnail, or a character's image. Links are valid for 24 hours."""
    with httpx.Client(timeout=60) as http:
        return [_content(http.get(url)) for url in _urls(task)]


async def download_async(task: Task) -> list[bytes]:
    """As `download`."""
    async with httpx.AsyncClient(timeout=60) as http:
        return [_content(await http.get(url)) for url in _urls(task)]


def _submission(request: Request, of: str | None, key: str | None, on_progress: OnProgress | None) -> _Plan:
    call: dict[str, Any] = {"body": request, "idempotency_key": key or str(uuid.uuid4())}
    if of is not None:
        submitted = yield from _persist(remix_video, {**call, "video_id": of})
    else:
        submitted = yield from _persist(create_image if isinstance(request, ImageRequest) else create_video, call)
    return (yield from _waiting(submitted.id, on_progress))


def _waiting(task_id: str, on_progress: OnProgress | None) -> _Plan:
    last = -1
    while True:
        task = (yield from _persist(get_task, {"task_id": task_id, "wait": 3 if on_progress else 30})).data
        if on_progress and task.progress > last:
            on_progress(task)
        last = task.progress
        if task.status == "completed":
            return task
        if task.status == "failed":
            raise TaskFailed(task)


def _persist(api: ModuleType, call: dict[str, Any]) -> _Plan:
    """Retries with growing delays if the gateway cannot be reached or is busy. A submission is safe to repeat because of its key."""
    for attempt in range(6):
        answer = yield (api, call)
        if isinstance(answer, httpx.TransportError):
            if attempt == 5:
                raise answer
            yield 2**attempt / 2
            continue
        if answer.status_code == 200:
            return answer.parsed
        if attempt == 5 or (answer.status_code != 429 and answer.status_code < 500):
            raise GatewayError(int(answer.status_code), json.loads(answer.content or b"null"))
        yield float(answer.headers.get("retry-after") or 2**attempt / 2)


def _drive(client: AuthenticatedClient, plan: _Plan) -> Any:
    answer: Any = None
    try:
        while True:
            step = plan.send(answer)
            answer = None
            if isinstance(step, tuple):
                try:
                    answer = step[0].sync_detailed(client=client, **step[1])
                except httpx.TransportError as error:
                    answer = error
            else:
                time.sleep(step)
    except StopIteration as done:
        return done.value


async def _drive_async(client: AuthenticatedClient, plan: _Plan) -> Any:
    answer: Any = None
    try:
        while True:
            step = plan.send(answer)
            answer = None
            if isinstance(step, tuple):
                try:
                    answer = await step[0].asyncio_detailed(client=client, **step[1])
                except httpx.TransportError as error:
                    answer = error
            else:
                await asyncio.sleep(step)
    except StopIteration as done:
        return done.value


def _urls(task: Task) -> list[str]:
    result = task.to_dict().get("result")
    if not result:
        raise ValueError("the task has no files: it is not completed")
    if "images" in result:
        return [url for image in result["images"] for url in image["url"]]
    if "videos" in result:
        return [url for video in result["videos"] for url in [*video["url"], *([video["thumbnail"]] if "thumbnail" in video else [])]]
    return [character["profile_picture_url"] for character in result["data"]["characters"]]


def _content(response: httpx.Response) -> bytes:
    if response.status_code != 200:
        raise GatewayError(response.status_code, response.json())
    return response.content
