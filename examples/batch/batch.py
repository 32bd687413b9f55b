"""Makes an image for each row of a CSV, within a budget. Can be interrupted at any moment, and goes on when it is started again.

    BASE_URL=https://... API_KEY=sk-... python3 batch.py prompts.csv --budget 3.00

The CSV has the columns id and prompt, and optionally model and size. The images go to the folder `prompts`, the results to
`prompts.results.csv`, which is also what the program goes on from: keep it. Python 3.9, Linux or macOS, no packages.
"""

import argparse, csv, fcntl, hashlib, json, mimetypes, os, re, signal, sys, threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

COLUMNS = ["key", "id", "status", "task", "cost", "file", "error"]
ATTEMPTS = 8
stop = threading.Event()


def report(text):
    """Prints a whole line from any thread."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Refused(Exception):
    """The gateway answered with an error. `status` is the HTTP status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Interrupted(Exception):
    """The program must end: by a signal, or because the gateway cannot be reached."""


def fetch(url, body=None, headers={}):
    """The answer's content and type. Repeats rate-limited and lost requests: submissions have a key, so they are charged once."""
    for attempt in range(ATTEMPTS):
        try:
            with urlopen(Request(url, body, headers), timeout=60) as answer:
                return answer.read(), answer.headers.get_content_type()
        except HTTPError as error:
            text = error.read().decode(errors="replace")
            if error.code != 429 and error.code < 500:
                raise Refused(error.code, text)
            problem, pause = text, error.headers.get("retry-after") or ""
        except (OSError, HTTPException) as error:
            problem, pause = error, ""
        if stop.wait(int(pause) if pause.isdigit() else 2**attempt):
            raise Interrupted
    stop.set()
    print(f"The gateway does not answer: {problem}", file=sys.stderr)
    raise Interrupted


def ask(path, body=None, key=None):
    """An answer of the API."""
    headers = {"Authorization": "Bearer " + os.environ["API_KEY"], "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    try:
        content, _ = fetch(os.environ["BASE_URL"] + path, body and json.dumps(body).encode(), headers)
    except Refused as refused:
        try:
            raise Refused(refused.status, json.loads(str(refused))["error"]["message"])
        except (ValueError, LookupError, TypeError):
            raise refused
    return json.loads(content, parse_float=Decimal)


class Results:
    """The results file: a line for each row that was begun, written whole before and after each step that matters.

    `status` is `submitting` (the cost is set aside, the request may have been sent), `submitted` (the task exists), `saved`,
    `failed` or `refused`; `cost` is what was charged, or may be charged at most.
    """

    def __init__(self, path, budget):
        self.path, self.budget, self.lock = path, budget, threading.Lock()
        # Two programs on the same file could together exceed the budget.
        self.guard = open(path.with_suffix(".lock"), "w")
        try:
            fcntl.flock(self.guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"Another program is working on {path}.")
        self.lines = {}
        if path.exists():
            with open(path, newline="", encoding="utf-8") as file:
                self.lines = {line["key"]: line for line in csv.DictReader(file)}

    def total(self):
        return sum((Decimal(line["cost"]) for line in self.lines.values()), Decimal(0))

    def reserve(self, key, id, cost):
        """Sets the cost of a row aside before it is submitted; False if the budget does not allow it."""
        with self.lock:
            before = Decimal(self.lines[key]["cost"]) if key in self.lines else 0
            if self.total() - before + cost > self.budget:
                return False
            self.lines[key] = {**dict.fromkeys(COLUMNS, ""), "key": key, "id": id, "status": "submitting", "cost": cost}
            self.write()
            return True

    def update(self, key, **changes):
        with self.lock:
            self.lines[key].update(changes)
            self.write()

    def write(self):
        new = self.path.with_suffix(".new")
        with open(new, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(self.lines.values())
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)


class Batch:
    """Processes the rows of a CSV."""

    def __init__(self, rows, results, folder):
        self.rows, self.results, self.folder = rows, results, folder
        self.prices, self.beyond_budget = {}, []

    def make(self, row):
        """Processes one row as far as possible; the next start does the rest."""
        key, id = row["key"], row["id"]
        line = self.results.lines.get(key, {"status": ""})
        if stop.is_set() or line["status"] in ("saved", "failed"):
            return
        try:
            task = line.get("task") or self.submit(row, line)
            if task:
                self.save(key, id, task)
        except Interrupted:
            return
        except Refused as refused:
            # Invalid bodies and empty balances are refused before anything is reserved. After other
            # errors a task may exist.
            free = refused.status in (400, 402, 422)
            if key in self.results.lines:
                self.results.update(key, error=str(refused), **({"status": "refused", "cost": 0} if free else {}))
            if refused.status in (401, 402, 403):
                stop.set()
            report(f"{id}: refused: {refused}")

    def submit(self, row, line):
        """The id of the row's task; None if the budget does not allow it."""
        key, body = row["key"], row["body"]
        if line["status"]:
            # An earlier start may have submitted it without reading the answer; after a day the
            # gateway does not know the key any more.
            found = ask(f"/v1/tasks?reference={key}")["data"]
            if found:
                self.results.update(key, status="submitted", task=found[0]["id"])
                return found[0]["id"]
        # A request that was sent once is repeated unchanged: the same key with another body is
        # refused.
        price = Decimal(line["cost"]) if line["status"] == "submitting" else self.price(body)
        if not self.results.reserve(key, row["id"], price):
            self.beyond_budget.append(row["id"])
            return None
        task = ask("/v1/images/generations", {**body, "max_cost": float(price)}, key)["id"]
        self.results.update(key, status="submitted", task=task)
        return task

    def price(self, body):
        """The price of an image of this model and size. If it rises in the meantime, the submission's max_cost refuses it."""
        kind = body["model"], body["size"]
        if kind not in self.prices:
            self.prices[kind] = Decimal(ask("/v1/images/generations?dry_run=true", body)["price"])
        return self.prices[kind]

    def save(self, key, id, task):
        """Waits for the task and saves its image."""
        while (data := ask(f"/v1/tasks/{task}?wait=5")["data"])["status"] in ("queued", "in_progress"):
            if stop.is_set():
                raise Interrupted
        charged = data["cost"]["charged"]
        if data["status"] == "failed":
            self.results.update(key, status="failed", cost=charged, error=data["error"]["message"])
            return report(f"{id}: failed: {data['error']['message']}")
        content, type = fetch(data["result"]["images"][0]["url"][0])
        file = self.folder / (id + (mimetypes.guess_extension(type) or ""))
        part = file.with_name(file.name + ".part")
        part.write_bytes(content)
        os.replace(part, file)
        self.results.update(key, status="saved", cost=charged, file=file.name, error="")
        report(f"{id}: saved {file} ({charged})")


def read_rows(path):
    """The rows of the CSV, each with its request and its idempotency key, which is computed from the row: a changed row is another image."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    ids = [row.get("id") or "" for row in rows]
    wrong = [id for id in ids if not re.fullmatch(r"\w[\w.-]{0,63}", id, re.ASCII) or ids.count(id) > 1]
    if wrong or any(not row.get("prompt") for row in rows):
        sys.exit(f"Each row needs a prompt and an id of its own (letters, digits, dots, dashes) that names its file: {wrong or 'no prompt'}")
    for row in rows:
        body = {"model": row.get("model") or "imgA-4", "prompt": row["prompt"], "size": row.get("size") or "1:1"}
        row["key"] = "row-" + hashlib.sha256(json.dumps([row["id"], body]).encode()).hexdigest()[:40]
        row["body"] = {**body, "reference": row["key"]}
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("csv", type=Path)
    options.add_argument("--budget", type=Decimal, required=True, help="what all starts together may cost, in balance units")
    options.add_argument("--parallel", type=int, default=4, help="how many tasks may be open at once (default 4)")
    given = options.parse_args()
    rows = read_rows(given.csv)
    folder = given.csv.with_suffix("")
    folder.mkdir(exist_ok=True)
    results = Results(given.csv.with_suffix(".results.csv"), given.budget)

    def interrupt(number, _):
        # Running requests are finished. A second signal ends the program at once; that loses
        # nothing either.
        signal.signal(number, signal.SIG_DFL)
        print("Ending; start it again to go on.", file=sys.stderr)
        stop.set()

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    batch = Batch(rows, results, folder)
    with ThreadPoolExecutor(given.parallel) as pool:
        list(pool.map(batch.make, rows))
    saved = sum(results.lines.get(row["key"], {}).get("status") == "saved" for row in rows)
    if batch.beyond_budget:
        report(f"{len(batch.beyond_budget)} rows were not begun: the budget does not allow them")
    report(f"{saved} of {len(rows)} images saved, {results.total()} of {given.budget} spent")
    sys.exit(0 if saved == len(rows) else 1)


if __name__ == "__main__":
    main()
