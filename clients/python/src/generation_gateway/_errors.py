"""Errors: a class for each type of the gateway's, for connections, and for tasks that failed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from .generated.types import ErrorDetail, Task


class GatewayError(Exception):
    """Base of all errors of this package."""


class APIConnectionError(GatewayError):
    """No whole answer arrived: the connection failed or was cut. The outcome of the request is unknown."""

    def __init__(self, message: str, *, has_begun: bool = False) -> None:
        super().__init__(message)
        self.has_begun = has_begun
        """True if an answer had begun: the work may be done."""


class APITimeoutError(APIConnectionError):
    """No answer arrived within the time limit."""


class TaskFailedError(GatewayError):
    """The task failed; it cost nothing. `code` is that of `task["error"]`."""

    def __init__(self, task: Task) -> None:
        self.task = task
        error = task.get("error")
        self.code = error["code"] if error else None
        super().__init__(f"{error['code']}: {error['message']}" if error else task["status"])


class DeliveryFailedError(GatewayError):
    """The task completed, and its files could not be delivered to the bucket. They can still be downloaded."""

    def __init__(self, task: Task) -> None:
        self.task = task
        super().__init__(f"the files of {task['id']} were not delivered")


class APIError(GatewayError):
    """The request was refused."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        error = _error_of(body)
        text = error.get("message") or (cast("dict[str, Any]", body).get("message") if isinstance(body, dict) else None)
        super().__init__(str(text or f"HTTP {status}"))
        self.status = status
        self.headers = headers
        self.body: Any = cast("Any", body)
        """The answer: parsed JSON, or text."""
        self.code: str | None = error.get("code")
        """The same in every language: `invalid_request`, `cost_limit_exceeded` ... None if the answer is not the gateway's."""
        self.param: str | None = error.get("param")
        """The first violated field."""
        self.details: list[ErrorDetail] = error.get("details") or []
        """Every violated rule."""
        self.request_id: str | None = headers.get("x-request-id")
        """For the operator, when you report a problem."""
        self.retry_after: float | None = _seconds(headers.get("retry-after"))
        """Seconds."""


class InvalidRequestError(APIError):
    """A field is wrong or missing: see `details`."""


class UnauthorizedError(APIError):
    """No key, one that is not valid (401), or one that may not do this (403)."""


class InsufficientQuotaError(APIError):
    """Too little balance or budget."""


class NotFoundError(APIError):
    """A task or another thing does not exist, or is another account's."""


class ContentPolicyError(APIError):
    """The content was refused."""


class RateLimitError(APIError):
    """Too many requests, open tasks or waits."""


class InternalError(APIError):
    """A fault of the gateway or of what stands before it."""


_by_status: dict[int, type[APIError]] = {
    401: UnauthorizedError,
    402: InsufficientQuotaError,
    404: NotFoundError,
    429: RateLimitError,
}
_by_type: dict[str, type[APIError]] = {
    "invalid_request": InvalidRequestError,
    "unauthorized": UnauthorizedError,
    "insufficient_quota": InsufficientQuotaError,
    "task_not_found": NotFoundError,
    "content_policy_violation": ContentPolicyError,
    "rate_limit_exceeded": RateLimitError,
    "internal_error": InternalError,
}


def to_error(status: int, headers: Mapping[str, str], text: str) -> APIError:
    """The error of an answer; one that is not the gateway's own, such as a page of the platform's, has its class by status."""
    body: Any = text
    try:
        body = json.loads(text)
    except ValueError:
        pass  # A page of HTML, for example: `body` is its text.
    default = InternalError if status >= 500 else InvalidRequestError
    kind = _by_status.get(status) or _by_type.get(str(_error_of(body).get("type"))) or default
    return kind(status, headers, body)


def _error_of(body: Any) -> dict[str, Any]:
    error: Any = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    return cast("dict[str, Any]", error) if isinstance(error, dict) else {}


def _seconds(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
