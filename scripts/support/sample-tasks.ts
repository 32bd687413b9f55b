/** The sample tasks of an account: images, a video and a character from it, a failure; and more images for a full gallery. */

import { taskAnswer, type TaskData } from "./api-answers.ts";
import { ApiClient } from "./api-client.ts";
import type { Gateway } from "./gateway.ts";

type Account = Pick<Gateway, "baseUrl" | "apiKey">;

const deadlineMs = 90_000;
const videos = "/v1/videos/generations";
const images = "/v1/images/generations";

/** Submits a task and waits until it is final. */
export async function make({ baseUrl, apiKey }: Account, path: string, body: object): Promise<TaskData> {
  if (apiKey === undefined) throw new Error("the gateway has no demo account");
  const api = new ApiClient(baseUrl, apiKey);
  const { id } = await api.submit(path, body);
  for (const deadline = Date.now() + deadlineMs; Date.now() < deadline;) {
    const { data } = await api.ask(taskAnswer, `/v1/tasks/${id}?wait=30`);
    if (data.status === "completed" || data.status === "failed") return data;
  }
  throw new Error(`${path}: ${id} did not end`);
}

/** Submits the sample tasks and waits until all are final. */
export async function makeSamples(account: Account): Promise<void> {
  await Promise.all([
    make(account, images, { model: "imgA-4", prompt: "A lighthouse at dawn, the sea calm", size: "16:9", n: 2 }),
    make(account, images, { model: "imgA-4", prompt: "A scene that the filter refuses sandbox:flag" }),
    make(account, videos, {
      model: "vidA-2",
      prompt: "Waves break over the rocks below it",
      duration: 10,
      metadata: { thumbnail: true },
    }).then(({ id }) => make(account, videos, { model: "vidA-2", from_task: id, timestamps: "0,3" })),
  ]);
}

/** Submits images of several shapes, the last with four of them, and waits until all are final. */
export async function makeGallery(account: Account): Promise<void> {
  const prompts = [
    ["Dunes after rain", "1:1"],
    ["A slow river in autumn", "16:9"],
    ["Lanterns over a market", "1:1"],
    ["The coast from above", "16:9"],
    ["Glass and light", "1:1"],
    ["A quiet harbour at night", "1:1"],
    ["Pine hills in fog", "1:1"],
  ];
  await Promise.all(prompts.map(([prompt, size]) => make(account, images, { model: "imgA-4", prompt, size })));
  await make(account, images, { model: "imgA-4", prompt: "A lighthouse at dawn, thick brush strokes", size: "16:9", n: 4 });
}
