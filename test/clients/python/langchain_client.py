"""LangChain by the Responses API: answers, streams and tools."""

import os

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

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
