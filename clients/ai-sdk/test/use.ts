/** A program that uses the package, run by test/packages. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { experimental_generateVideo as generateVideo, generateImage, generateText, streamText } from "ai";
import { createGenerationGateway } from "generation-gateway-ai-sdk";

// The address and the key are read from GATEWAY_URL and GATEWAY_KEY.
const gateway = createGenerationGateway();

const { text, usage } = await generateText({ model: gateway("textA-1"), prompt: "Name a lighthouse." });
const streamed: string[] = [];
for await (const part of streamText({ model: gateway("textA-1-mini"), prompt: "Name a lighthouse." }).textStream) streamed.push(part);

const made = await generateImage({
  model: gateway.image("imgA-4"),
  prompt: `A lighthouse ${crypto.randomUUID()}`,
  n: 2,
  aspectRatio: "16:9",
  seed: 7,
});
const { images } = made.providerMetadata["generationGateway"] as unknown as { images: { charged: number }[] };
const { video } = await generateVideo({
  model: gateway.video("vidC-1-0-pro-fast"),
  prompt: "A lighthouse",
  duration: 2,
  resolution: "1280x720",
});

// The end of a video is reported to a server; status queries are counted.
let queries = 0;
const counting = createGenerationGateway({
  baseURL: `${process.env["GATEWAY_URL"]}/v1`,
  fetch: async (url, init) => {
    if (new Request(url).url.includes("/v1/tasks/")) queries++;
    return fetch(url, init);
  },
});
let receive: (call: { headers: Record<string, string>; body: string }) => void;
const called = new Promise<{ headers: Record<string, string>; body: string }>((resolve) => (receive = resolve));
const receiver = createServer((request, answer) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    answer.end();
    receive({ headers: request.headers as Record<string, string>, body });
  });
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const announced = await generateVideo({
  model: counting.video("vidC-1-0-pro-fast", { metadata: { resolution: "480p" } }),
  prompt: "A lighthouse",
  duration: 2,
  webhook: async () => ({ url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, received: called }),
});
receiver.close();

const refused = await generateImage({ model: gateway.image("imgA-4"), prompt: "a", aspectRatio: "5:4" }).catch((error: unknown) => error);
const failed = await generateImage({ model: gateway.image("imgA-4"), prompt: "sandbox:flag" }).catch((error: unknown) => error);

// Behind the proxy: whatever is lost, one call makes one task; its file arrives whole.
const { PROXY_URL: proxyUrl = "" } = process.env;
const fault = (name: string, count = 1, pass = 0) => fetch(`${proxyUrl}/faults/${name}/${count}/${pass}`, { method: "PUT" });
const log = async () => (await (await fetch(`${proxyUrl}/faults`)).json()) as string[];
const proxied = createGenerationGateway({ baseURL: proxyUrl, timeout: 2500 });
const survived: Record<string, unknown> = {};
for (const name of ["drop", "lost", "cut", "stall", "html", "page", "foreign", "delay"]) {
  await fault(name, 2);
  const { image } = await generateImage({ model: proxied.image("imgA-4"), prompt: crypto.randomUUID() });
  const keys = (await log()).filter((line) => line.startsWith("POST")).map((line) => line.split(" ")[2]);
  survived[name] = [image.mediaType, new Set(keys).size];
}
// A chat that may be paid for is not made again.
const asked: Record<string, number> = {};
for (const name of ["lost", "cut", "html", "page", "failed", "foreign"]) {
  await fault(name, 1);
  await generateText({ model: proxied("textA-1"), prompt: "Name a lighthouse." }).catch(() => undefined);
  asked[name] = (await log()).length;
}
const closed = createServer();
await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
const nowhere = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
await new Promise((resolve) => closed.close(resolve));
const unreachable = createGenerationGateway({ baseURL: nowhere });
const { message: unreached } = (await generateText({ model: unreachable("textA-1"), prompt: "a", maxRetries: 1 }).catch(
  (error: unknown) => error,
)) as Error;
// The submission and the status pass; the file is cut, and does not arrive whole at once.
await fault("cut", 2, 2);
const patient = createGenerationGateway({ baseURL: proxyUrl });
const cut = await generateImage({ model: patient.image("imgA-4"), prompt: crypto.randomUUID() });
const requests = (await log()).length;
const stop = new AbortController();
await fault("drop", 99);
setTimeout(() => stop.abort(), 2000);
const stopping = Date.now();
const stopped = await generateImage({ model: proxied.image("imgA-4"), prompt: "a", abortSignal: stop.signal }).catch(
  (error: unknown) => error,
);
const isAtOnce = Date.now() - stopping < 2400;
await fault("drop", 0);

console.log(
  JSON.stringify({
    survived,
    asked,
    unreached: /after 2 attempts/i.test(unreached),
    resumed: [cut.image.mediaType, requests >= 5],
    stopped: [(stopped as Error).name, isAtOnce],
    text: text.length > 0 && (usage.outputTokens ?? 0) > 0,
    streamed: streamed.join("").length > 0,
    images: {
      count: made.images.length,
      types: made.images.map(({ mediaType }) => mediaType),
      charged: images.reduce((sum, { charged }) => sum + charged, 0),
      warnings: made.warnings.flatMap((warning) => ("feature" in warning ? warning.feature : [])),
    },
    announced: { type: announced.video.mediaType, event: JSON.parse((await called).body).type, queries },
    video: { type: video.mediaType, bytes: video.uint8Array.length > 10_000 },
    refused: (refused as { statusCode?: number }).statusCode,
    failed: failed instanceof Error && failed.message.startsWith("content_policy_violation"),
  }),
);
