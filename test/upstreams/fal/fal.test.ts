/** The emulated fal queue with its official client. */

import { ApiError, createFalClient, ValidationError } from "@fal-ai/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { providerKeys } from "../keys.ts";
import { listen } from "../listen.ts";

let upstream: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => void (upstream = await listen()));
afterAll(() => upstream.close());

const client = (credentials: string) =>
  createFalClient({
    credentials,
    retry: { maxRetries: 0 },
    requestMiddleware: (request) =>
      Promise.resolve({ ...request, url: request.url.replace("https://queue.fal.run", `${upstream.origin}/fal`) }),
  });

const endpoint = "fal-ai/bytedance/seedream/v4/text-to-image";
const input = { image_size: { width: 1024, height: 1024 }, num_images: 2 };

test("the client submits, waits and reads the result, and the files are there", async () => {
  const seen: string[] = [];
  const { data, requestId } = await client(providerKeys.FAL_KEY).subscribe(endpoint, {
    input: { prompt: "client [queued 1] [running 1]", ...input },
    storageSettings: { expiresIn: "1d" },
    pollInterval: 5,
    onQueueUpdate: ({ status }) => seen.push(status),
  });
  expect(seen).toEqual(["IN_QUEUE", "IN_PROGRESS", "COMPLETED"]);
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(data.images).toHaveLength(2);
  const file = await fetch(data.images.at(1)?.url ?? "");
  expect(file.headers.get("content-type")).toBe("image/png");
});

test("the client polls and cancels a request by the URLs it builds itself", async () => {
  const { queue } = client(providerKeys.FAL_KEY);
  const { request_id: requestId, status_url } = await queue.submit(endpoint, { input: { prompt: "cancelled [queued]", ...input } });
  expect(status_url).toBe(`${upstream.origin}/fal/fal-ai/bytedance/requests/${requestId}/status`);
  await queue.cancel(endpoint, { requestId });
  await expect(queue.result(endpoint, { requestId })).rejects.toMatchObject({ status: 400 });
});

test("the client parses the errors", async () => {
  const { queue } = client(providerKeys.FAL_KEY);
  const { request_id: requestId } = await queue.submit(endpoint, { input: { prompt: "errors [moderated-later]", ...input } });
  const refused = await queue.result(endpoint, { requestId }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ValidationError);
  expect((refused as ValidationError).fieldErrors).toMatchObject([{ type: "content_policy_violation", loc: ["body", "prompt"] }]);
  const stranger = await client("wrong")
    .queue.submit(endpoint, { input: { prompt: "stranger", ...input } })
    .catch((error: unknown) => error);
  expect(stranger).toBeInstanceOf(ApiError);
  expect(stranger).toMatchObject({ status: 401 });
});
