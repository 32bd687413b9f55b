"""Instructor in its modes for OpenAI's clients: models, partial models, several tools, errors."""

import os
from collections.abc import Iterable

import instructor
from instructor.core import InstructorRetryException
from openai import OpenAI
from pydantic import BaseModel, Field

client = OpenAI(base_url=os.environ["OPENAI_BASE"], api_key=os.environ["API_KEY"], max_retries=0)


class Person(BaseModel):
    """Someone."""

    name: str
    age: int = Field(ge=18)


question = [{"role": "user", "content": "Who?"}]
for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA):
    own = instructor.from_openai(client, mode=mode)
    person, completion = own.chat.completions.create_with_completion(model="gpt-4o", messages=question, response_model=Person)
    assert person.age >= 18 and completion.usage.total_tokens > 0, (mode, person)
    parts = list(own.chat.completions.create_partial(model="gpt-4o", messages=question, response_model=Person))
    assert parts[-1].age >= 18, (mode, parts)

parallel = instructor.from_openai(client, mode=instructor.Mode.PARALLEL_TOOLS)
asked = [{"role": "user", "content": "What does Person say?"}]
people = list(parallel.chat.completions.create(model="gpt-4o", messages=asked, response_model=Iterable[Person]))
assert people[0].age >= 18, people

own = instructor.from_openai(client)
refused = [{"role": "user", "content": "sandbox:reject"}]
try:
    own.chat.completions.create(model="gpt-4o", messages=refused, response_model=Person, max_retries=1)
    raise AssertionError("answered")
except InstructorRetryException as error:
    assert "400" in str(error), error
