"""LangChain by the Responses API and by chat: answers, streams, tools, structured output, an image, errors."""

import functools
import operator
import os

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

model = ChatOpenAI(model="gpt-5", api_key=os.environ["API_KEY"], base_url=os.environ["OPENAI_BASE"], use_responses_api=True)
assert "Good morning" in model.invoke("Good morning").text
said = "".join(str(chunk.text) for chunk in model.stream("Good evening"))
assert "Good evening" in said, said


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"


bound = model.bind_tools([get_weather])
question = HumanMessage("What does get_weather say?")
called = bound.invoke([question])
(call,) = called.tool_calls
assert call["name"] == "get_weather", called
answer = bound.invoke([question, called, ToolMessage("sunny", tool_call_id=call["id"])])
assert "sunny" in answer.text, answer

# By chat completions: whole and streamed with usage, tools in a stream, structured output, an
# image, errors.
chat = ChatOpenAI(model="gpt-4o", api_key=os.environ["API_KEY"], base_url=os.environ["OPENAI_BASE"], max_retries=0, stream_usage=True)
whole = chat.invoke("Good morning")
streamed = functools.reduce(operator.add, chat.stream("Good morning"))
assert streamed.text == whole.text, streamed
assert streamed.usage_metadata["total_tokens"] == whole.usage_metadata["total_tokens"], streamed
(call,) = functools.reduce(operator.add, chat.bind_tools([get_weather]).stream([question])).tool_calls
assert (call["name"], list(call["args"])) == ("get_weather", ["city"]), call


class Person(BaseModel):
    """Someone."""

    name: str
    age: int = Field(ge=18)


assert chat.with_structured_output(Person, method="json_schema").invoke("Who?").age >= 18
dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{dot}"}}
seen = chat.invoke([HumanMessage([{"type": "text", "text": "What is it?"}, picture])])
assert "I saw 1 image." in seen.text, seen
for content, kind in (("sandbox:reject", openai.BadRequestError), ("sandbox:fail", openai.InternalServerError)):
    try:
        chat.invoke(content)
        raise AssertionError("answered")
    except kind:
        pass
