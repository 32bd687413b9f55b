"""LiteLLM's video calls and chat, by its OpenAI provider."""

import json
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

# Chat: whole and streamed with usage, tools whole and streamed, structured output, an image,
# errors.
route = {"model": "openai/gpt-4o", "api_key": os.environ["API_KEY"], "api_base": os.environ["OPENAI_BASE"], "num_retries": 0}
messages = [{"role": "user", "content": "Good morning"}]
whole = litellm.completion(messages=messages, **route)
assert "Good morning" in whole.choices[0].message.content, whole
chunks = list(litellm.completion(messages=messages, stream=True, stream_options={"include_usage": True}, **route))
rebuilt = litellm.stream_chunk_builder(chunks, messages=messages)
assert rebuilt.choices[0].message.content == whole.choices[0].message.content, rebuilt
assert chunks[-1].usage.total_tokens == whole.usage.total_tokens, chunks[-1]

parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]
question = {"role": "user", "content": "What does get_weather say?"}
called = litellm.completion(messages=[question], tools=tools, **route).choices[0].message
parts = list(litellm.completion(messages=[question], tools=tools, stream=True, **route))
streamed = litellm.stream_chunk_builder(parts, messages=[question]).choices[0].message
for message in (called, streamed):
    (call,) = message.tool_calls
    assert call.function.name == "get_weather" and "city" in call.function.arguments, message
result = {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "sunny"}
answer = litellm.completion(messages=[question, called.model_dump(), result], tools=tools, **route)
assert "sunny" in answer.choices[0].message.content, answer

schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 18}}, "required": ["age"], "additionalProperties": False}
wanted = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": schema}}
person = litellm.completion(messages=messages, response_format=wanted, **route)
assert json.loads(person.choices[0].message.content)["age"] >= 18, person
dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{dot}"}}
seen = litellm.completion(messages=[{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}], **route)
assert "I saw 1 image." in seen.choices[0].message.content, seen
for content, kind in (("sandbox:reject", litellm.BadRequestError), ("sandbox:fail", litellm.InternalServerError)):
    try:
        litellm.completion(messages=[{"role": "user", "content": content}], **route)
        raise AssertionError("answered")
    except kind:
        pass
