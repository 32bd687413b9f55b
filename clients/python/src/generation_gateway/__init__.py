"""Client of the generation gateway: the whole API in `generated`, and from a submission to its files here."""

from .generated.client import AuthenticatedClient
from .tasks import (
    GatewayError,
    TaskFailed,
    download,
    download_async,
    submit_and_wait,
    submit_and_wait_async,
    wait_for_task,
    wait_for_task_async,
)
from .verify import verify_callback, verify_receipt

__all__ = [
    "AuthenticatedClient",
    "GatewayError",
    "TaskFailed",
    "connect",
    "download",
    "download_async",
    "submit_and_wait",
    "submit_and_wait_async",
    "verify_callback",
    "verify_receipt",
    "wait_for_task",
    "wait_for_task_async",
]


def connect(base_url: str, api_key: str) -> AuthenticatedClient:
    """A client of the gateway with an API key, for every function of this package."""
    return AuthenticatedClient(base_url=base_url, token=api_key, timeout=60)
