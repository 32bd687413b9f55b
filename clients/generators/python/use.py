"""A program with the client that openapi-python-client generates: one submission, and its stream of events."""

import json
import os

from generated.api.generations import create_image
from generated.client import AuthenticatedClient
from generated.models import CharacterFromUrl, ErrorAnswer, ImageRequest, Submission, Task

client = AuthenticatedClient(base_url=os.environ["GATEWAY_URL"], token=os.environ["GATEWAY_KEY"], timeout=60)
submitted = create_image.sync(client=client, body=ImageRequest(model="imgA-4", prompt="A lighthouse"))
assert isinstance(submitted, Submission), submitted
with client.get_httpx_client().stream("GET", f"/v1/tasks/{submitted.id}/events") as stream:
    events = [json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line.startswith("data: ")]
task = Task.from_dict(events[-1])
wrong = create_image.sync(client=client, body=ImageRequest(model="imgA-4", prompt=""))
assert isinstance(wrong, ErrorAnswer), wrong
# The fields of a character are its type's.
character = CharacterFromUrl(model="vidA-2", url="https://films.example/a.mp4", timestamps="0,2")
assert character.to_dict() == {"model": "vidA-2", "url": "https://films.example/a.mp4", "timestamps": "0,2"}
print(task.status, task.cost.charged, wrong.error.code)
