# Makes an image, waits until it exists and saves it: BASE_URL=... API_KEY=... python3 image.py
import json, os, sys, urllib.request as http

headers = {"Authorization": "Bearer " + os.environ["API_KEY"], "Content-Type": "application/json"}

def ask(path, body=None):
    try:
        return json.load(http.urlopen(http.Request(os.environ["BASE_URL"] + path, body, headers)))
    except http.HTTPError as error:
        sys.exit(f"{error}: {error.read().decode()}")

task = ask("/v1/images/generations", b'{"model": "imgA-4", "prompt": "A lighthouse in the fog"}')
while task["status"] in ("queued", "in_progress"):
    task = ask(f"/v1/tasks/{task['id']}?wait=60")["data"]
if "error" in task: sys.exit(task["error"]["message"])
http.urlretrieve(task["result"]["images"][0]["url"][0], "python.png")
