"""Verifies a receipt without asking the gateway. Python's standard library is enough.

    python3 verify-receipt.py receipt.json jwks.json [--request body.json] [file ...]

`receipt.json` is the answer of `GET /v1/tasks/{id}/receipt`, `jwks.json` that of `/.well-known/jwks.json`. With the body that was sent and
the files that were downloaded it also checks that they are the ones the receipt names. Ends with 1 when anything is wrong.
"""

import argparse
import base64
import hashlib
import json
import sys
from decimal import Decimal

# Ed25519 (RFC 8032, 5.1). For verifying alone: it takes no secret, so its time may depend on its input.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("not a point")
    return P - x if x % 2 != sign else x


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    x = recover_x(y, sign)
    return (x, y, 1, x * y % P)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(factor, p):
    q = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            q = add(q, p)
        p = add(p, p)
        factor >>= 1
    return q


BASE_Y = 4 * pow(5, -1, P) % P
BASE = (recover_x(BASE_Y, 0), BASE_Y, 1, recover_x(BASE_Y, 0) * BASE_Y % P)


def is_signed(key, message, signature):
    try:
        a, r = point(key), point(signature[:32])
    except ValueError:
        return False
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = multiply(s, BASE), add(r, multiply(k, a))
    same = all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))
    return len(key) == 32 and len(signature) == 64 and s < L and same


def number(value):
    """A number in JavaScript's notation, which RFC 8785 requires."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, at = "".join(map(str, digits)), len(digits) + exponent
    if len(text) <= at <= 21:
        text += "0" * (at - len(text))
    elif 0 < at <= 21:
        text = text[:at] + "." + text[at:]
    elif -6 < at <= 0:
        text = "0." + "0" * -at + text
    else:
        text = text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{at - 1:+d}"
    return "-" * sign + text


def canonical(value):
    """Canonical JSON, RFC 8785; numbers have been read as floats."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    arguments = argparse.ArgumentParser(description="Verifies a receipt offline.")
    arguments.add_argument("receipt")
    arguments.add_argument("jwks")
    arguments.add_argument("--request", help="the body that was sent")
    arguments.add_argument("files", nargs="*", help="files that were downloaded")
    given = arguments.parse_intermixed_args()

    answer = json.loads(read(given.receipt))
    receipt, (header, payload, signature) = answer["receipt"], answer["jws"].split(".")
    named = json.loads(decode(header))
    keys = [key for key in json.loads(read(given.jwks))["keys"] if key["kid"] == named["kid"]]
    if named["alg"] != "EdDSA" or not keys:
        sys.exit(f"no EdDSA key {named['kid']} in {given.jwks}")
    if not is_signed(decode(keys[0]["x"]), f"{header}.{payload}".encode(), decode(signature)):
        sys.exit("the signature is wrong")
    if json.loads(decode(payload)) != receipt:
        sys.exit("the receipt is not the one that was signed")
    if given.request:
        body = canonical(json.loads(read(given.request), parse_int=float))
        if hashlib.sha256(body.encode()).hexdigest() != receipt["request_sha256"]:
            sys.exit(f"{given.request} is not the request of this receipt")
    for path in given.files:
        if hashlib.sha256(read(path)).hexdigest() not in [file["sha256"] for file in receipt["files"]]:
            sys.exit(f"{path} is no file of this receipt")
    unit = (receipt["price"] or {"unit": "units"})["unit"]
    print(f"good: {receipt['id']}, {receipt['status']}, charged {receipt['charged']} {unit}")


main()
