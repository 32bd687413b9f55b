/** What the package does in every runtime, with a key or a browser's token: run by test/packages in Chromium, workerd, Deno and Bun. */

import { Gateway, NotFoundError, toFile } from "generation-gateway-client";

export async function use(baseURL, apiKey) {
  const gateway = new Gateway({ baseURL, apiKey });
  const { id } = await gateway.images.create({ model: "imgA-4", prompt: "A lighthouse", n: 2 });
  const states = [];
  for await (const { status } of gateway.tasks.stream(id)) states.push(status);
  const files = await gateway.tasks.download(await gateway.tasks.wait(id));
  const bytes = await Promise.all(files.map((file) => file.bytes()));
  const error = await gateway.tasks.retrieve("task_none").catch((refused) => refused);
  return {
    state: states.at(-1),
    types: files.map(({ type }) => type),
    isWhole: files.every(({ size }, at) => size === bytes[at].length),
    isTyped: error instanceof NotFoundError,
    // A browser's token neither chats nor uploads.
    ...(apiKey.startsWith("sk-") && { chat: await chat(gateway), edited: await edit(gateway, bytes[0]) }),
  };
}

async function chat(gateway) {
  const messages = [{ role: "user", content: "What is a lighthouse?" }];
  let chunks = 0;
  for await (const _ of await gateway.chat.completions.create({ model: "textA-1-mini", messages, stream: true })) chunks++;
  return chunks > 1;
}

async function edit(gateway, bytes) {
  const picture = await toFile(bytes, "lighthouse.png", { type: "image/png" });
  const { status } = await gateway.images.generate({ model: "imgB-4o-image", prompt: "Make it snow", images: [picture] });
  return status;
}
