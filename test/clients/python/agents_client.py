"""OpenAI's Agents SDK by the Responses API and by chat: answers, streams, tools, structured output, hand-offs, errors."""

import asyncio
import os

import openai
from agents import Agent, AsyncOpenAI, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel, Field

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE"], api_key=os.environ["API_KEY"], max_retries=0)
asked: list[str] = []


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    asked.append(city)
    return "sunny"


class Person(BaseModel):
    """Someone."""

    name: str
    age: int = Field(ge=18)


async def use(model: OpenAIResponsesModel | OpenAIChatCompletionsModel) -> None:
    answer = await Runner.run(Agent(name="Helper", model=model), "Good morning")
    assert "Good morning" in answer.final_output, answer
    streamed = Runner.run_streamed(Agent(name="Helper", model=model), "Good evening")
    said = ""
    async for event in streamed.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            said += event.data.delta
    assert "Good evening" in said, said
    asked.clear()
    helper = Agent(name="Helper", model=model, tools=[get_weather])
    assert "sunny" in (await Runner.run(helper, "What does get_weather say?")).final_output
    assert len(asked) == 1, asked
    person = await Runner.run(Agent(name="Helper", model=model, output_type=Person), "Who?")
    assert person.final_output.age >= 18, person
    other = Agent(name="Weatherman", model=model, handoff_description="Knows the weather")
    handed = await Runner.run(Agent(name="Helper", model=model, handoffs=[other]), "Call transfer_to_weatherman.")
    assert handed.last_agent.name == "Weatherman", handed
    for content, kind in (("sandbox:reject", openai.BadRequestError), ("sandbox:fail", openai.InternalServerError)):
        try:
            await Runner.run(Agent(name="Helper", model=model), content)
            raise AssertionError("answered")
        except kind:
            pass


async def main() -> None:
    await use(OpenAIResponsesModel(model="gpt-5", openai_client=client))
    await use(OpenAIChatCompletionsModel(model="gpt-4o", openai_client=client))


asyncio.run(main())
