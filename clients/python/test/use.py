"""A program that uses the package, run by test/packages."""

import asyncio
import json
import os
import uuid

from generation_gateway import (
    AuthenticatedClient,
    GatewayError,
    TaskFailed,
    connect,
    download,
    download_async,
    submit_and_wait,
    submit_and_wait_async,
    verify_callback,
    verify_receipt,
)
from generation_gateway.generated.models import ImageRequest, VidA2Request


def refused(verify, *arguments) -> str:
    try:
        verify(*arguments)
    except ValueError:
        return "refused"
    return "taken"


def use(client: AuthenticatedClient) -> dict:
    with open("samples.json", encoding="utf-8") as file:
        samples = json.load(file)
    request = ImageRequest(model="imgA-4", prompt=f"A lighthouse {uuid.uuid4()}", n=2)
    key, seen = str(uuid.uuid4()), []
    image = submit_and_wait(client, request, idempotency_key=key, on_progress=lambda task: seen.append(task.progress))
    assert seen[-1] == 100, seen
    again = submit_and_wait(client, request, idempotency_key=key)
    types = ["image/png" if file.startswith(b"\x89PNG") else "other" for file in download(image)]
    video = submit_and_wait(client, VidA2Request(model="vidA-2", prompt="A lighthouse"))
    try:
        submit_and_wait(client, ImageRequest(model="imgA-4", prompt="a", n=9, size="5:4"))
        raise AssertionError("not refused")
    except GatewayError as error:
        wrong = {"status": error.status, "params": sorted(detail["param"] for detail in error.body["error"]["details"])}
    try:
        submit_and_wait(client, ImageRequest(model="imgA-4", prompt="sandbox:flag"))
        raise AssertionError("not failed")
    except TaskFailed as error:
        failed = error.task.error.code
    body = samples["body"].encode()
    answer = samples["answer"]
    forged = {**answer, "receipt": {**answer["receipt"], "charged": 0}}
    return {
        "image": {"status": image.status, "charged": image.cost.charged, "types": types},
        "again": again.id == image.id,
        "video": {"duration": video.result.videos[0].duration, "bytes": len(download(video)[0]) > 10_000},
        "refused": wrong,
        "failed": failed,
        "callback": verify_callback(samples["secret"], samples["headers"], body)["type"],
        "forgedCallback": refused(verify_callback, samples["secret"], samples["headers"], body + b" "),
        "receipt": verify_receipt(answer, samples["jwks"])["id"],
        "forgedReceipt": refused(verify_receipt, forged, samples["jwks"]),
    }


async def use_async(client: AuthenticatedClient) -> dict:
    image = await submit_and_wait_async(client, ImageRequest(model="imgA-4", prompt=f"A lighthouse {uuid.uuid4()}"))
    return {"charged": image.cost.charged, "files": len(await download_async(image))}


with connect(os.environ["GATEWAY_URL"], os.environ["GATEWAY_KEY"]) as gateway:
    result = use(gateway)
result["asyncImage"] = asyncio.run(use_async(connect(os.environ["GATEWAY_URL"], os.environ["GATEWAY_KEY"])))
print(json.dumps(result))
