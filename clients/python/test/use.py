"""A program that uses the package, run by test/packages: against the gateway, and behind a proxy that loses and changes answers."""

import asyncio
import json
import os
import time
import urllib.request
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from generation_gateway import (
    APIConnectionError,
    APITimeoutError,
    AsyncGateway,
    BatchResult,
    DeliveryFailedError,
    DestinationChange,
    Gateway,
    ImageRequest,
    InternalError,
    InvalidRequestError,
    ModelName,
    NotFoundError,
    Task,
    TaskFailedError,
    UnauthorizedError,
    verify_webhook,
    verify_receipt,
)

with open("samples.json", encoding="utf-8") as samples_file:
    samples: dict[str, Any] = json.load(samples_file)
PROXY = os.environ["PROXY_URL"]


def caught(work: Callable[[], object]) -> Exception:
    try:
        work()
    except Exception as error:
        return error
    return AssertionError("nothing was raised")


def fault(name: str, count: int = 1, after: int = 0) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{PROXY}/faults/{name}/{count}/{after}", method="PUT")).close()


def requests_seen() -> list[str]:
    with urllib.request.urlopen(f"{PROXY}/faults") as answer:
        seen: list[str] = json.load(answer)
        return seen


def charged(task: Task) -> float:
    return task["cost"].get("charged", 0)


def use(gateway: Gateway) -> dict[str, Any]:
    request: ImageRequest = {"model": "imgA-4", "prompt": f"A lighthouse {uuid.uuid4()}", "n": 2}
    key, progress = str(uuid.uuid4()), list[int]()
    image = gateway.images.generate(request, idempotency_key=key, on_progress=lambda task: progress.append(task["progress"]))
    assert progress[-1] == 100, progress
    again = gateway.images.generate(request, idempotency_key=key)
    downloads = gateway.tasks.download(image)
    pngs = [download.read() for download in downloads]
    video = gateway.videos.generate({"model": "vidA-2", "prompt": "A lighthouse", "duration": 10})
    saved = gateway.tasks.download(video)[0].save()

    refused = caught(lambda: gateway.images.create({**request, "n": 9, "size": "5:4"}))  # type: ignore[typeddict-item]
    assert isinstance(refused, InvalidRequestError), refused
    failed = caught(lambda: gateway.images.generate({**request, "prompt": "sandbox:flag"}))
    assert isinstance(failed, TaskFailedError), failed
    stranger = caught(lambda: Gateway(api_key="sk-nothing").models.list())
    nowhere = caught(lambda: Gateway("127.0.0.1:8787", "sk-nothing"))
    assert isinstance(nowhere, ValueError) and "http://" in str(nowhere), nowhere
    assert Gateway(api_key=f"{os.environ['GATEWAY_KEY']}\n").models.list()
    # A task that takes longer than the time limit of a request, without repeats.
    gateway.with_options(timeout=4, max_retries=0).videos.generate({"model": "vidA-2", "prompt": "Within the limit"})

    wrong = caught(lambda: gateway.videos.create({"model": "vidA-2", "prompt": "a", "duration": 7}))  # type: ignore[misc, arg-type]
    assert isinstance(wrong, InvalidRequestError) and wrong.param == "duration", wrong
    # A model that the operator has added has no such types.
    own = caught(lambda: gateway.videos.create({"model": ModelName("house-film"), "prompt": "a", "duration": 7, "metadata": {"a": 1}}))
    assert isinstance(own, InvalidRequestError) and own.param == "model", own

    question = "What is a lighthouse?"
    text = ""
    with gateway.chat.completions.create(
        {"model": "textA-1-mini", "messages": [{"role": "user", "content": question}]}, stream=True
    ) as stream:
        for chunk in stream:
            for choice in chunk["choices"]:
                text += choice["delta"].get("content") or ""
    whole = gateway.chat.completions.create({"model": "textA-1-mini", "messages": [{"role": "user", "content": question}]})
    followed = gateway.images.create({"model": "imgA-4", "prompt": f"Followed {uuid.uuid4()}"})
    states = [task["status"] for task in gateway.tasks.stream(followed["id"])]

    uploaded = gateway.files.upload(saved)
    picture = gateway.files.upload(pngs[0], expires_in=3600)
    edited = gateway.images.generate({"model": "imgB-4o-image", "prompt": f"Snow {uuid.uuid4()}", "images": [picture["id"], pngs[0]]})
    with open("lighthouse.png", "wb") as png:
        png.write(pngs[0])
    snowy: ImageRequest = {"model": "imgB-4o-image", "prompt": f"Snow {uuid.uuid4()}", "images": [Path("lighthouse.png")]}
    assert gateway.images.generate(snowy)["status"] == "completed"
    is_whole = len(gateway.files.download(uploaded["id"]).read()) == os.path.getsize(saved)

    # Delivery to a bucket: a presigned URL of the test's proxy.
    still: ImageRequest = {"model": "imgA-4", "prompt": f"Delivered {uuid.uuid4()}"}
    delivered = gateway.images.generate(still, deliver_to={"url": f"{PROXY}/bucket/image?signature=x"})
    with urllib.request.urlopen(f"{PROXY}/bucket/image") as answer:
        is_delivered = answer.read() == gateway.tasks.download(delivered)[0].read()
    undelivered = caught(lambda: gateway.images.generate(still, deliver_to={"url": f"{PROXY}/bucket/forbidden"}))
    assert isinstance(undelivered, DeliveryFailedError), undelivered

    # Delivered again, to a bucket that refuses the first time: a task, and a line of a batch, whose file is uploaded on the way.
    late = caught(lambda: gateway.images.generate(still, deliver_to={"url": f"{PROXY}/bucket/repaired-task"}))
    assert isinstance(late, DeliveryFailedError), late
    redelivered = gateway.tasks.deliver(late.task["id"])
    while redelivered.get("delivery", {}).get("status") == "pending":
        time.sleep(0.2)
        redelivered = gateway.tasks.retrieve(redelivered["id"])
    line = {"custom_id": "a", "endpoint": "/v1/images/generations", "body": {**still, "deliver_to": {"url": f"{PROXY}/bucket/repaired-line"}}}
    Path("lines.jsonl").write_text(json.dumps(line))
    shipped = gateway.batches.create({"input_file": Path("lines.jsonl")})["id"]
    while not (closed := gateway.batches.retrieve(shipped).get("deliveries", {}).get("failed")):
        time.sleep(0.2)
    repeated = gateway.batches.deliver(shipped).get("deliveries", {}).get("failed")
    while not (delivered_lines := gateway.batches.retrieve(shipped).get("deliveries", {}).get("delivered")):
        time.sleep(0.2)

    # A bucket of the account: added, listed, removed.
    bucket: DestinationChange = {
        "kind": "s3",
        "endpoint": "https://s3.eu-central-1.amazonaws.com",
        "region": "eu-central-1",
        "bucket": "pictures",
        "access_key_id": "a",
        "secret_access_key": "b",
    }
    destination = gateway.destinations.set("own", bucket)
    destinations = [one["name"] for one in gateway.destinations.list()]
    gateway.destinations.delete("own")
    removed = caught(lambda: gateway.destinations.retrieve("own"))
    assert isinstance(removed, NotFoundError), removed

    reference = str(uuid.uuid4())
    lines = [
        {
            "custom_id": f"line-{n}",
            "endpoint": "/v1/images/generations",
            "body": {"model": "imgA-4", "prompt": f"Line {n} of {reference}", "reference": reference},
        }
        for n in (1, 2, 3)
    ]
    batch = gateway.batches.wait(gateway.batches.create({"requests": lines})["id"])
    results: list[BatchResult] = list(gateway.batches.results(batch["id"]))
    film = {"custom_id": "film", "endpoint": "/v1/videos/generations", "body": {"model": "vidA-2", "prompt": reference}}
    cancelled = gateway.batches.wait(gateway.batches.cancel(gateway.batches.create({"requests": [film]})["id"])["id"])
    listed = [task for task in gateway.tasks.list(reference=reference, limit=2)]
    page = gateway.tasks.list(reference=reference, limit=2).page()
    estimate = gateway.estimate({"model": "vidC-1-0-pro-fast", "prompt": "Northern lights", "duration": 8})

    body = samples["body"].encode()
    forged = {**samples["answer"], "receipt": {**samples["answer"]["receipt"], "charged": 0}}
    return {
        "image": {"status": image["status"], "charged": charged(image), "types": [download.type for download in downloads]},
        "names": [download.name.endswith(".png") for download in downloads],
        "again": again["id"] == image["id"],
        "video": {"duration": video["metadata"].get("duration"), "bytes": os.path.getsize(saved) > 10_000},
        "refused": {
            "status": refused.status,
            "code": refused.code,
            "param": refused.param,
            "params": sorted(detail["param"] for detail in refused.details),
            "hasId": refused.request_id is not None,
        },
        "unauthorized": isinstance(stranger, UnauthorizedError),
        "failed": failed.code,
        "chat": {"streamed": len(text) > 0, "whole": len(whole["choices"][0]["message"].get("content") or "") > 0},
        "states": [states[-1], len(states) > 1],
        "files": {"type": uploaded["type"], "isWhole": is_whole, "edited": edited["status"]},
        "batch": {
            "status": batch["status"],
            "lines": [f"{line['custom_id']} {line['status']} {line['cost']['charged']}" for line in results],
            "listed": len(listed),
            "page": len(page),
        },
        "delivery": [delivered.get("delivery", {}).get("status"), is_delivered, undelivered.task["status"]],
        "redelivery": [redelivered.get("delivery", {}).get("status"), closed, repeated, delivered_lines],
        "destination": [destination["bucket"], destinations, removed.code],
        "cancelled": cancelled["status"],
        "estimate": [estimate["kind"], estimate["price"]],
        "used": gateway.account.balance()["used_balance"] > 0,
        "callback": verify_webhook(samples["secret"], samples["headers"], body)["type"],
        "forgedCallback": "signature" in str(caught(lambda: verify_webhook(samples["secret"], samples["headers"], body + b" "))),
        "receipt": verify_receipt(samples["answer"], samples["jwks"])["id"],
        "forgedReceipt": "receipt" in str(caught(lambda: verify_receipt(forged, samples["jwks"]))),
    }


def behind_proxy(direct: Gateway) -> dict[str, Any]:
    """Whatever is lost, one submission makes one task."""
    proxied = Gateway(f"{PROXY}/v1/")
    survived: dict[str, Any] = {}
    task: Task | None = None
    for name in ("drop", "lost", "cut", "html", "foreign"):
        mine = str(uuid.uuid4())
        fault(name, 2)
        task = proxied.images.generate({"model": "imgA-4", "prompt": mine, "reference": mine})
        keys = {line.split(" ")[2] for line in requests_seen() if line.startswith("POST")}
        survived[name] = [task["status"], len(direct.tasks.list(reference=mine).page()), len(keys)]
    assert task
    cut_file = proxied.tasks.download(task)[0]
    fault("cut", 2)
    resumed = [len(cut_file.read()) == cut_file.size, len(requests_seen())]
    unsaved, is_kept = keep(proxied, task)
    fault("cut")
    hello: Any = {"model": "textA-1-mini", "messages": [{"role": "user", "content": "Hello"}]}
    cut_chat = caught(lambda: proxied.chat.completions.create(hello))
    chats = len(requests_seen())
    once(direct, proxied)
    fault("delay")
    slow = caught(lambda: Gateway(PROXY, timeout=0.3, max_retries=0).models.list())
    fault("html", 9)
    gone = caught(lambda: Gateway(PROXY, max_retries=0).models.list())
    assert isinstance(gone, InternalError), gone
    quick = proxied.with_options(timeout=0.7, headers={"accept-language": "ko"})
    fault("stall")
    stalled_chat = caught(lambda: list(quick.chat.completions.create(hello, stream=True)))
    stalled_file = quick.tasks.download(task)[0]
    fault("stall")
    is_stall_resumed = len(stalled_file.read()) == stalled_file.size
    fault("stall")
    stalled_states = [state["status"] for state in quick.tasks.stream(task["id"])]
    fault("empty", 99)
    silent = caught(lambda: list(proxied.tasks.stream(task["id"])))
    reconnections = len(requests_seen())
    fault("page")
    behind_page = quick.models.list()
    fault("drop", 0)
    korean = caught(lambda: quick.images.create({"model": "imgA-4", "prompt": ""}))
    assert any("\uac00" <= letter <= "\ud7a3" for letter in str(korean)), korean
    return {
        "stalled": [isinstance(stalled_chat, APITimeoutError), is_stall_resumed, stalled_states[-1]],
        "silent": [isinstance(silent, APIConnectionError), reconnections],
        "page": len(behind_page) > 0,
        "kept": [type(unsaved).__name__, is_kept],
        "survived": survived,
        "resumed": resumed,
        "cutChat": [isinstance(cut_chat, APIConnectionError), chats],
        "slow": isinstance(slow, APITimeoutError),
        "gone": [gone.status, gone.code is None, "1101" in str(gone.body)],
    }


def once(direct: Gateway, proxied: Gateway) -> None:
    """What has no key of its own is done once too, and a name never leads to another path."""
    chat: Any = {"model": "textA-1-mini", "messages": [{"role": "user", "content": "Hello"}]}
    # A chat whose connection was lost, or that a page of the platform's answers, may have been paid for.
    for name in ("lost", "html", "failed"):
        for ask in (
            partial(proxied.chat.completions.create, chat),
            partial(proxied.request, "POST", "/v1/chat/completions", body=chat),
        ):
            fault(name)
            error = caught(ask)
            assert isinstance(error, (APIConnectionError, InternalError)), error
            assert len(requests_seen()) == 1, name
    # The key is sent to the API alone, whatever a program takes for a path.
    keyed: list[str] = []

    def watch(request: httpx.Request) -> httpx.Response:
        if "authorization" in request.headers:
            keyed.append(str(request.url))
        return httpx.Response(200, json={})

    watched = Gateway("https://gateway.example", "sk-nothing", http_client=httpx.Client(transport=httpx.MockTransport(watch)))
    for path in ("/v1/models", "/admin/audit", ".other.example/v1/x", "https://other.example/v1/x"):
        watched.request("GET", path)
    assert keyed == ["https://gateway.example/v1/models", "https://gateway.example/admin/audit"], keyed
    # A file of any name is saved under it.
    form = {"file": ("Küste 100% – 海.png", b"\x89PNG\r\n\x1a\n" + bytes(100))}
    posted = httpx.post(
        os.environ["GATEWAY_URL"] + "/v1/files", files=form, headers={"authorization": f"Bearer {os.environ['GATEWAY_KEY']}"}
    ).json()
    assert direct.files.download(posted["id"]).name == "Küste 100% – 海.png", posted
    fault("cut")
    assert isinstance(caught(proxied.webhook.rotate_secret), APIConnectionError)
    assert len(requests_seen()) == 1
    mine = str(uuid.uuid4())
    fault("lost")
    proxied.request("POST", "/v1/images/generations", body={"model": "imgA-4", "prompt": mine, "reference": mine})
    assert len(direct.tasks.list(reference=mine).page()) == 1
    for name in ("../webhook_secret", "a/b?c#d", ".", ""):
        assert isinstance(caught(partial(direct.files.retrieve, name)), NotFoundError), name


def keep(proxied: Gateway, task: Task) -> tuple[Exception, bool]:
    """A download that fails leaves the earlier file of that name as it was."""
    earlier = Path("kept.png")
    earlier.write_text("earlier")
    broken = proxied.with_options(max_retries=0).tasks.download(task)[0]
    fault("drop", 9)
    unsaved = caught(lambda: broken.save(earlier))
    fault("drop", 0)
    return unsaved, earlier.read_text() == "earlier" and not Path("kept.png.part").exists()


async def most_open() -> int:
    """How many of twelve files are open at a time when all are read at once."""
    reading = most = 0

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal reading, most
        if request.method == "HEAD":
            return httpx.Response(200, headers={"content-length": "1"})
        reading += 1
        most = max(most, reading)
        await asyncio.sleep(0.02)
        reading -= 1
        return httpx.Response(200, stream=httpx.ByteStream(b"a"))

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    async with AsyncGateway("https://files.example", "sk-nothing", http_client=client) as gateway:
        files = [await gateway.download(f"https://files.example/assets/task_a/{at}.png") for at in range(12)]
        assert len(await asyncio.gather(*(file.read() for file in files))) == 12
    return most


async def use_async() -> dict[str, Any]:
    async with AsyncGateway() as gateway:
        mine = str(uuid.uuid4())
        async with AsyncGateway(PROXY) as proxied:
            fault("cut", 1)
            image = await proxied.images.generate({"model": "imgA-4", "prompt": mine, "reference": mine})
        files = [await download.read() for download in await gateway.tasks.download(image)]
        saved = await (await gateway.tasks.download(image))[0].save()
        assert os.path.getsize(saved) == len(files[0])
        listed = [task["id"] async for task in gateway.tasks.list(reference=mine)]
        stream = await gateway.chat.completions.create(
            {"model": "textA-1-mini", "messages": [{"role": "user", "content": "Hello"}]}, stream=True
        )
        chunks = [chunk async for chunk in stream]
        waiting = asyncio.create_task(gateway.videos.generate({"model": "vidA-2", "prompt": mine}))
        await asyncio.sleep(0.5)
        waiting.cancel()
        ended = (await asyncio.gather(waiting, return_exceptions=True))[0]
        return {
            "charged": charged(image),
            "files": len(files),
            "bounded": await most_open(),
            "listed": len(listed),
            "streamed": len(chunks) > 1,
            "cancelled": isinstance(ended, asyncio.CancelledError),
        }


# The address and the key are read from GATEWAY_URL and GATEWAY_KEY.
with Gateway() as client:
    outcome = {**use(client), **behind_proxy(client)}
outcome["async"] = asyncio.run(use_async())
print(json.dumps(outcome))
