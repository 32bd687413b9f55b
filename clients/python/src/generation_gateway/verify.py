"""Verification without calling the gateway: of webhooks and of receipts."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Verifies a webhook by the account's secret (`whsec_...`) and returns its parsed body. `body` is the received body.

    Raises `ValueError` if no signature is valid or the webhook is more than five minutes old.
    """
    found = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp, signatures = (found.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        raise ValueError("the webhook is too old, or of the future")
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    # There are two signatures while a secret is being rotated.
    if not any(hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures.split(" ")):
        raise ValueError("no signature of the webhook is right")
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def verify_receipt(answer: dict[str, Any], jwks: dict[str, Any]) -> dict[str, Any]:
    """Verifies a receipt (`GET /v1/tasks/{id}/receipt`) with the gateway's keys (`/.well-known/jwks.json`) and returns the signed payload.

    Needs the extra `receipts`. Raises `ValueError` if the signature is invalid or the receipt differs from the signed one.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    header, payload, signature = answer["jws"].split(".")
    named = json.loads(_decode(header))
    keys = [key for key in jwks["keys"] if key.get("kid") == named.get("kid")]
    if named.get("alg") != "EdDSA" or not keys:
        raise ValueError(f"there is no EdDSA key {named.get('kid')}")
    try:
        Ed25519PublicKey.from_public_bytes(_decode(keys[0]["x"])).verify(_decode(signature), f"{header}.{payload}".encode())
    except InvalidSignature as error:
        raise ValueError("the signature is wrong") from error
    signed: dict[str, Any] = json.loads(_decode(payload))
    if signed != answer["receipt"]:
        raise ValueError("the receipt is not the one that was signed")
    return signed


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
