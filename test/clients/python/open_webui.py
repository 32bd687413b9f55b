"""Open WebUI with the variables of the documentation's page (`CONFIG`): its models, a chat and an image through it."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
address = f"http://127.0.0.1:{port}"


def call(path, body=None, token=None):
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(address + path, json.dumps(body).encode() if body else None, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read()


config = os.environ["CONFIG"].replace("https://gateway.example/openai/v1", os.environ["OPENAI_BASE"])
lines = config.replace("sk-...", os.environ["API_KEY"]).splitlines()
with tempfile.TemporaryDirectory() as folder:
    environment = {
        **os.environ,
        **dict(line.split("=", 1) for line in lines),
        "DATA_DIR": folder,
        "WEBUI_SECRET_KEY": "of-a-test",
        # Nothing is downloaded at the start: its own embeddings are not what the page is about.
        "OFFLINE_MODE": "true",
        "RAG_EMBEDDING_ENGINE": "openai",
    }
    program = str(Path(sys.executable).with_name("open-webui"))
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
    with open(Path(folder) / "log", "w") as log:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
    try:
        for _ in range(900):
            try:
                call("/health")
                break
            except OSError:
                assert server.poll() is None, (Path(folder) / "log").read_text()[-2000:]
                time.sleep(0.5)
        user = {"name": "Ann", "email": "ann@example.com", "password": "a lighthouse keeper"}
        token = json.loads(call("/api/v1/auths/signup", user))["token"]
        models = {model["id"] for model in json.loads(call("/api/models", token=token))["data"]}
        assert {"gpt-4o", "textA-1"} & models, models
        chat = {"model": "textA-1", "messages": [{"role": "user", "content": "Name a lighthouse."}], "stream": False}
        answer = json.loads(call("/api/chat/completions", chat, token))
        assert "Name a lighthouse." in answer["choices"][0]["message"]["content"], answer
        (image,) = json.loads(call("/api/v1/images/generations", {"prompt": "A hare on a hill"}, token))
        assert call(image["url"], token=token)[1:4] == b"PNG", image
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
