"""LiteLLM's proxy with the configuration of the documentation's page (`CONFIG`): a chat, a stream and an image through it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from openai import OpenAI

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
master = "sk-lighthouse-keeper-0001"
with tempfile.TemporaryDirectory() as folder:
    config = Path(folder) / "config.yaml"
    config.write_text(os.environ["CONFIG"].replace("https://gateway.example/openai/v1", os.environ["OPENAI_BASE"]))
    program = str(Path(sys.executable).with_name("litellm"))
    environment = {**os.environ, "LITELLM_MASTER_KEY": master, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    proxy = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5)
                break
            except OSError:
                assert proxy.poll() is None, f"the proxy ended with {proxy.returncode}"
                time.sleep(0.2)
        client = OpenAI(api_key=master, base_url=f"http://127.0.0.1:{port}/v1", max_retries=0)
        assert {model.id for model in client.models.list()} == {"gpt-4o", "gpt-image-1"}
        messages = [{"role": "user", "content": "Name a lighthouse."}]
        whole = client.chat.completions.create(model="gpt-4o", messages=messages)
        assert "Name a lighthouse." in whole.choices[0].message.content, whole
        parts = client.chat.completions.create(model="gpt-4o", messages=messages, stream=True)
        text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
        assert text == whole.choices[0].message.content, text
        image = client.images.generate(model="gpt-image-1", prompt="A hare on a hill", size="1024x1024")
        assert image.data[0].b64_json or image.data[0].url, image
    finally:
        proxy.send_signal(signal.SIGINT)
        try:
            proxy.wait(20)
        except subprocess.TimeoutExpired:
            proxy.kill()
