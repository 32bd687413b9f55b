"""Makes an image for each row of a CSV (columns id and prompt, optionally model and size), within a budget. Start it again if it is interrupted.

    BASE_URL=https://... API_KEY=sk-... python3 batch.py prompts.csv 3.00
"""

import csv, hashlib, json, os, shutil, sys, time
from urllib.request import HTTPError, Request, urlopen


def ask(path, body=None, **headers):
    headers["Authorization"] = f"Bearer {os.environ['API_KEY']}"
    try:
        return urlopen(Request(os.environ["BASE_URL"] + path, body, headers), timeout=60)
    except HTTPError as error:
        sys.exit(f"{error}: {error.read().decode()}")


source, budget = sys.argv[1:]
rows = [{name: value for name, value in row.items() if value} for row in csv.DictReader(open(source, newline="", encoding="utf-8-sig"))]
lines = [{"custom_id": row.pop("id"), "endpoint": "/v1/images/generations", "body": {"model": "imgA-4", **row}} for row in rows]
text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
body = {"input_file": json.load(ask("/v1/files", text))["id"], "max_cost": float(budget), "concurrency": 50}
# The same rows and budget are the same batch, however often this is started.
key = hashlib.sha256(text + budget.encode()).hexdigest()
batch = json.load(ask("/v1/batches", json.dumps(body).encode(), **{"Content-Type": "application/json", "Idempotency-Key": key}))
while "ended_at" not in batch:
    time.sleep(2)
    batch = json.load(ask(f"/v1/batches/{batch['id']}"))
    print(f"{batch['counts']['completed']} of {len(lines)} made", flush=True)
for path, ending in (("results", "results.jsonl"), ("files.zip", "zip")):
    with open(f"{os.path.splitext(source)[0]}.{ending}", "wb") as file:
        shutil.copyfileobj(ask(f"/v1/batches/{batch['id']}/{path}"), file)
print(f"{batch['counts']['completed']} of {len(lines)} images saved, {batch['cost']['charged']:.2f} of {budget} spent")
