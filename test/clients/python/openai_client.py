"""openai-python, unchanged: what scripts of 2025 do with it, against the gateway. Asserts, and prints nothing on success."""

import io
import os

import openai
import pydantic
from openai import OpenAI

client = OpenAI(api_key=os.environ["API_KEY"], base_url=os.environ["OPENAI_BASE"])

# Videos: created and awaited with the client's own helper, downloaded, remixed, listed, deleted.
video = client.videos.create_and_poll(model="sora-2", prompt="A hare on a hill", seconds="4", size="1280x720")
assert (video.status, video.model, video.seconds, video.size) == ("completed", "sora-2", "4", "1280x720"), video
content = client.videos.download_content(video.id, variant="video").read()
assert content[4:8] == b"ftyp", content[:16]
assert len(client.videos.download_content(video.id, variant="thumbnail").read()) > 1000
remix = client.videos.remix(video.id, prompt="The same in the rain")
assert remix.remixed_from_video_id == video.id, remix
assert client.videos.poll(remix.id).status == "completed"
assert [one.id for one in client.videos.list(limit=1)] == [remix.id, video.id]
assert client.videos.delete(video.id).deleted
try:
    client.videos.retrieve(video.id)
    raise AssertionError("still there")
except openai.NotFoundError:
    pass

# Images: by URL, as bytes, and from files.
assert "/assets/" in client.images.generate(model="dall-e-3", prompt="A hare", size="1024x1792").data[0].url
import base64

png = base64.b64decode(client.images.generate(model="gpt-image-1", prompt="A hare").data[0].b64_json)
assert png[1:4] == b"PNG"
pictures = [("a.png", io.BytesIO(png), "image/png"), ("b.png", io.BytesIO(png), "image/png")]
assert len(client.images.edit(model="gpt-image-1", prompt="Two hares", image=pictures).data) == 1
framed = client.videos.create_and_poll(model="sora-2", prompt="It runs", input_reference=("a.png", png, "image/png"))
assert framed.status == "completed", framed

# A client that times out and retries is charged once: the test that runs this script checks the
# balance.
hasty = client.with_options(timeout=1.0, max_retries=8)
assert len(hasty.images.generate(model="dall-e-3", prompt="A hare that takes its time").data) == 1

# Responses: whole, streamed, with tools.
answer = client.responses.create(model="gpt-5", instructions="Be brief.", input="Good morning")
assert "Good morning" in answer.output_text, answer
tools = [{
    "type": "function",
    "name": "get_weather",
    "strict": True,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
}]
question = {"role": "user", "content": "What does get_weather say?"}
with client.responses.stream(model="gpt-5", input=[question], tools=tools) as stream:
    types = [event.type for event in stream]
    final = stream.get_final_response()
assert types[0] == "response.created" and types[-1] == "response.completed", types
(call,) = final.output
result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
made = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
text = ""
for event in client.responses.create(model="gpt-5", input=[question, made, result], tools=tools, stream=True):
    if event.type == "response.output_text.delta":
        text += event.delta
assert "sunny" in text, text

# Errors are the client's own classes.
try:
    client.images.generate(model="gpt-image-1", prompt="x", size="3x3")
    raise AssertionError("taken")
except openai.BadRequestError as error:
    assert error.param == "size", error.body

# Chat: whole and streamed with usage, tools, structured output, an image, models, errors and the
# client's retries.
messages = [{"role": "user", "content": "Good morning"}]
whole = client.chat.completions.create(model="gpt-5", messages=messages)
assert "Good morning" in whole.choices[0].message.content and whole.model == "gpt-5", whole
text, usage = "", None
for chunk in client.chat.completions.create(model="gpt-5", messages=messages, stream=True, stream_options={"include_usage": True}):
    text += "".join(choice.delta.content or "" for choice in chunk.choices)
    usage = chunk.usage or usage
assert text == whole.choices[0].message.content, text
assert usage.total_tokens == whole.usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage

functions = [{"type": "function", "function": {"name": "get_weather", "parameters": tools[0]["parameters"]}}]
called = client.chat.completions.create(model="gpt-5", messages=[question], tools=functions).choices[0]
assert called.finish_reason == "tool_calls", called
arguments = ""
for chunk in client.chat.completions.create(model="gpt-5", messages=[question], tools=functions, stream=True):
    for choice in chunk.choices:
        arguments += "".join(part.function.arguments or "" for part in choice.delta.tool_calls or [])
(made,) = called.message.tool_calls
assert (made.function.name, arguments) == ("get_weather", made.function.arguments), arguments
result = {"role": "tool", "tool_call_id": made.id, "content": "sunny"}
answer = client.chat.completions.create(model="gpt-5", messages=[question, called.message, result], tools=functions)
assert "sunny" in answer.choices[0].message.content, answer


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=18)


parsed = client.chat.completions.parse(model="gpt-5", messages=messages, response_format=Person)
assert parsed.choices[0].message.parsed.age >= 18, parsed
picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(png).decode()}}
seen = client.chat.completions.create(
    model="gpt-5", messages=[{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]
)
assert "I saw 1 image." in seen.choices[0].message.content, seen

assert {"textA-1", "gpt-5"} <= {model.id for model in client.models.list()}
assert client.models.retrieve("gpt-5").id == "gpt-5"
for content, kind in (("sandbox:reject", openai.BadRequestError), ("sandbox:fail", openai.InternalServerError)):
    try:
        client.with_options(max_retries=1).chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": content}])
        raise AssertionError("answered")
    except kind:
        pass
try:
    for _ in client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "sandbox:break"}], stream=True):
        pass
    raise AssertionError("not broken")
except openai.APIError:
    pass
