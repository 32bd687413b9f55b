"""Pydantic AI by chat and by the Responses API: answers, streams, tools, structured output, errors."""

import asyncio
import os

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=os.environ["OPENAI_BASE"], api_key=os.environ["API_KEY"])


class Person(BaseModel):
    """Someone."""

    name: str
    age: int = Field(ge=18)


async def streamed(agent: Agent) -> str:
    async with agent.run_stream("Good evening") as result:
        return "".join([part async for part in result.stream_text(delta=True)])


for model in (OpenAIChatModel("gpt-4o", provider=provider), OpenAIResponsesModel("gpt-5", provider=provider)):
    agent = Agent(model)
    answer = agent.run_sync("Good morning")
    assert "Good morning" in answer.output, answer
    assert answer.usage.output_tokens > 0, answer.usage
    assert "Good evening" in asyncio.run(streamed(agent))

    asked = []
    helper = Agent(model)

    @helper.tool_plain
    def get_weather(city: str) -> str:
        """The weather of a city."""
        asked.append(city)
        return "sunny"

    assert "sunny" in helper.run_sync("What does get_weather say?").output
    assert len(asked) == 1, asked

    assert Agent(model, output_type=Person).run_sync("Who?").output.age >= 18
    for content, status in (("sandbox:reject", 400), ("sandbox:fail", 500)):
        try:
            Agent(model, retries=0).run_sync(content)
            raise AssertionError("answered")
        except ModelHTTPError as error:
            assert error.status_code == status, error
