"""Client of the generation gateway: images, videos, characters, batches and chats. Bodies and answers are plain dicts with types."""

from ._async import (
    AsyncDownload as AsyncDownload,
    AsyncGateway as AsyncGateway,
    AsyncList as AsyncList,
    AsyncStream as AsyncStream,
)
from ._errors import (
    APIConnectionError as APIConnectionError,
    APIError as APIError,
    APITimeoutError as APITimeoutError,
    ContentPolicyError as ContentPolicyError,
    DeliveryFailedError as DeliveryFailedError,
    GatewayError as GatewayError,
    InsufficientQuotaError as InsufficientQuotaError,
    InternalError as InternalError,
    InvalidRequestError as InvalidRequestError,
    NotFoundError as NotFoundError,
    RateLimitError as RateLimitError,
    TaskFailedError as TaskFailedError,
    UnauthorizedError as UnauthorizedError,
)
from ._sync import (
    Download as Download,
    Gateway as Gateway,
    List as List,
    Stream as Stream,
)
from ._values import (
    FileSource as FileSource,
    ModelName as ModelName,
)
from .generated.types import *  # noqa: F403
from .verify import (
    verify_webhook as verify_webhook,
    verify_receipt as verify_receipt,
)
