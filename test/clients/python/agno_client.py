"""Agno by chat and by the Responses API: answers, streams, tools, structured output."""

import os

from agno.agent import Agent
from agno.models.openai import OpenAIChat, OpenAIResponses
from pydantic import BaseModel, Field

os.environ["AGNO_TELEMETRY"] = "false"
place = {"base_url": os.environ["OPENAI_BASE"], "api_key": os.environ["API_KEY"]}
asked: list[str] = []


def get_weather(city: str) -> str:
    """The weather of a city."""
    asked.append(city)
    return "sunny"


class Person(BaseModel):
    """Someone."""

    name: str
    age: int = Field(ge=18)


for model in (OpenAIChat(id="gpt-4o", **place), OpenAIResponses(id="gpt-5", **place)):
    agent = Agent(model=model, telemetry=False)
    assert "Good morning" in agent.run("Good morning").content
    said = "".join(event.content or "" for event in agent.run("Good evening", stream=True) if hasattr(event, "content"))
    assert "Good evening" in said, said
    asked.clear()
    helper = Agent(model=model, tools=[get_weather], telemetry=False)
    assert "sunny" in helper.run("What does get_weather say?").content
    assert len(asked) == 1, asked
    assert Agent(model=model, output_schema=Person, telemetry=False).run("Who?").content.age >= 18
