"""LiteLLM's video calls, by its OpenAI provider."""

import os
import time

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no look-up on the network

import litellm  # noqa: E402

where = {"api_key": os.environ["API_KEY"], "api_base": os.environ["OPENAI_BASE"], "custom_llm_provider": "openai"}
video = litellm.video_generation(model="openai/sora-2", prompt="A hare on a hill", seconds="4", size="1280x720", **where)
for _ in range(120):
    status = litellm.video_status(video_id=video.id, **where)
    if status.status in ("completed", "failed"):
        break
    time.sleep(0.5)
assert status.status == "completed", status
content = litellm.video_content(video_id=video.id, **where)
assert content[4:8] == b"ftyp", content[:16]
