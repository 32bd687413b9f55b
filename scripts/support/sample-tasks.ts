/** The sample tasks of an account: images, a video and a character from it, a failure. */

import { ApiClient } from "./api-client.ts";
import type { Gateway } from "./gateway.ts";

const videos = "/v1/videos/generations";
const images = "/v1/images/generations";

/** Submits the sample tasks and waits until all are final. */
export async function makeSamples({ baseUrl, apiKey }: Pick<Gateway, "baseUrl" | "apiKey">): Promise<void> {
  if (apiKey === undefined) throw new Error("the gateway has no demo account");
  const api = new ApiClient(baseUrl, apiKey);
  const make = async (path: string, body: object): Promise<string> => {
    const { id } = await api.submit(path, body);
    const status = await fetch(`${baseUrl}/v1/tasks/${id}?wait=60`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(90_000),
    });
    if (!/"status":"(completed|failed)"/.test(await status.text())) throw new Error(`${path}: the sample task did not end`);
    return id;
  };
  await Promise.all([
    make(images, { model: "imgA-4", prompt: "A lighthouse at dawn, the sea calm", size: "16:9", n: 2 }),
    make(images, { model: "imgA-4", prompt: "A scene that the filter refuses sandbox:flag" }),
    make(videos, { model: "vidA-2", prompt: "Waves break over the rocks below it", duration: 10, metadata: { thumbnail: true } }).then(
      (video) => make(videos, { model: "vidA-2", from_task: video, timestamps: "0,3" }),
    ),
  ]);
}
