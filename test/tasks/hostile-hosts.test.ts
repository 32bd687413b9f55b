/** Hostile hosts behind callers' URLs: the task fails as the caller's fault, and the money is returned. Contract 6. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings, openStub, spyOn } from "../support/faults.ts";
import { type Account, readBalance, call, deliver, holdTime, newAccount, pass, submit, unique, upstreamCalls } from "../support/gateway.ts";
import { pixel as png } from "../media/images.ts";

holdTime();

const videos = "/v1/videos/generations";
const strict = { ALLOW_PRIVATE_NETWORK: "off", ASSET_BASE_URL: "https://files.gateway.example" };
const url = "https://pictures.example.com/a";

/** Bodies whose task reads the URL when it runs, and the maximum bytes that it reads. */
const readers: [kind: string, path: string, body: (prompt: string) => object, mebibytes: number][] = [
  ["an image's reference", "/v1/images/generations", (prompt) => ({ model: "imgA-4", prompt, images: [url] }), 10],
  ["a video's first frame", videos, (prompt) => ({ model: "vidD-02", prompt, metadata: { first_frame_image: url } }), 10],
  ["a character's video", videos, () => ({ model: "vidA-2", url, timestamps: "0,1" }), 64],
];

/** Replaces the internet; other hosts than these do not resolve. */
const internet = (hosts: Record<string, (signal?: AbortSignal | null) => Response | Promise<Response>>) =>
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const answer = hosts[input as string];
    if (!answer) throw new TypeError("Network connection lost.");
    return answer(init?.signal);
  });

const redirect = (location: string, status = 302) => new Response(null, { status, headers: { location } });

async function expectRefused(account: Account, id: string, prompt: string): Promise<void> {
  const { data } = (await call(`/v1/tasks/${id}`, { key: account.key })).body;
  const error = { code: "invalid_input", message: "An image or video of the request could not be used." };
  expect(data).toMatchObject({ status: "failed", error });
  expect(data).not.toHaveProperty("result");
  expect(await readBalance(account)).toEqual({ quota: 100, reserved: 0, used: 0, remaining: 100 });
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
  if (prompt) expect(await upstreamCalls(prompt)).toEqual([]);
}

test.each(readers)("%s: the start has the queue of slow starts, so that a host that hangs delays no collection", async (_, path, body) => {
  const account = await newAccount();
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const id = await submit(account, path, body(unique()));
  const queues = await runInDurableObject(openStub(id), (instance) => (instance as unknown as { env: Env }).env);
  expect(sends.mock.contexts).toEqual([queues.STARTS]);
});

const targets = [
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://[::1]/",
  "http://[::ffff:10.0.0.1]/",
  "http://169.254.169.254/latest/meta-data/",
  "//localhost/",
  "http://metadata.google.internal/",
  "https://gateway.example/v1/balance",
  "https://files.gateway.example/assets/a",
  "https://user:secret@pictures.example.com/b",
  "https://pictures.example.com:8443/b",
  "file:///etc/passwd",
  "data:image/png;base64,AAAA",
];

test.each(readers)("%s: a redirect to a private address is refused, the first one or the third", async (_, path, body) => {
  const account = await newAccount();
  for (const [at, target] of targets.entries()) {
    const hops: Parameters<typeof internet>[0] =
      at % 2 === 0
        ? { [url]: () => redirect(target) }
        : { [url]: () => redirect("/b", 301), "https://pictures.example.com/b": () => redirect(target, 307) };
    const fetched = internet(hops);
    const prompt = unique();
    const id = await submit(account, path, body(prompt));
    await deliver(id, "gateway-dispatch", strict);
    expect(
      fetched.mock.calls.map(([asked]) => asked),
      target,
    ).toEqual(Object.keys(hops));
    await expectRefused(account, id, "prompt" in body(prompt) ? prompt : "");
    fetched.mockRestore();
  }
});

test.each(readers)("%s: endless redirects are followed three times", async (_, path, body) => {
  const account = await newAccount();
  const fetched = internet({ [url]: () => redirect(url) });
  const id = await submit(account, path, body(unique()));
  await deliver(id, "gateway-dispatch", strict);
  expect(fetched).toHaveBeenCalledTimes(4);
  await expectRefused(account, id, "");
});

test.each(readers)("%s: an endless body is cut off at the limit", async (_, path, body, mebibytes) => {
  const chunk = new Uint8Array(1024 * 1024);
  const seen = { sent: 0, isCancelled: false };
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      // Makes the test fail, instead of exhausting memory, if the limit is missing.
      if (++seen.sent > 200) controller.close();
      else controller.enqueue(chunk);
    },
    cancel() {
      seen.isCancelled = true;
    },
  });
  internet({ [url]: () => new Response(endless, { headers: { "content-type": "image/png" } }) });
  const account = await newAccount();
  const id = await submit(account, path, body(unique()));
  await deliver(id, "gateway-dispatch", strict);
  expect(seen.isCancelled).toBe(true);
  expect(seen.sent).toBeLessThanOrEqual(mebibytes + 3);
  await expectRefused(account, id, "");
});

const neverAnswers = (signal?: AbortSignal | null) =>
  new Promise<Response>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
const stalls = () =>
  new Response(new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array([0x89, 0x50, 0x4e, 0x47])) }));

test.each(
  readers.flatMap(([kind, path, body]) => [
    [kind, "never answers", path, body, neverAnswers] as const,
    [kind, "stalls within its body", path, body, stalls] as const,
  ]),
)("%s: a host that %s gets 30 seconds, is asked again, and then fails the task", async (_kind, _name, path, body, answer) => {
  const original = setTimeout;
  const limits: number[] = [];
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms = 0) => {
    if (ms === 30_000) limits.push(ms);
    return original(run, ms === 30_000 ? 0 : ms);
  }) as never);
  const fetched = internet({ [url]: answer });
  const account = await newAccount();
  const id = await submit(account, path, body(unique()));
  for (let round = 0; round < 40 && fetched.mock.calls.length < 6; round++) {
    await deliver(id, "gateway-dispatch", strict);
    await pass(id, 2);
  }
  expect(fetched).toHaveBeenCalledTimes(6);
  expect(limits.length).toBeGreaterThanOrEqual(6);
  await expectRefused(account, id, "");
});

test.each(readers.slice(0, 2))(
  "%s: a file that is not an image is refused, whatever its content type; an image is accepted",
  async (_, path, body) => {
    const account = await newAccount();
    const pages: [content: string, type: string][] = [
      ["<html><script>alert(1)</script></html>", "image/png"],
      ["<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"],
      ["GIF89a", "image/png"],
      ["", "image/png"],
      ['{"access_token": "secret"}', "application/json"],
    ];
    for (const [content, type] of pages) {
      internet({ [url]: () => new Response(content, { headers: { "content-type": type } }) });
      const prompt = unique();
      const id = await submit(account, path, body(prompt));
      await deliver(id, "gateway-dispatch", strict);
      await expectRefused(account, id, prompt);
      vi.restoreAllMocks();
    }
    internet({ [url]: () => new Response(Uint8Array.fromBase64(png), { headers: { "content-type": "text/html" } }) });
    const id = await submit(account, path, body(unique()));
    await deliver(id, "gateway-dispatch", strict);
    expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("in_progress");
  },
);

const toPng = () => new Response(Uint8Array.fromBase64(png), { headers: { "content-type": "image/png" } });
const withImage = (prompt: string, image: string) => ({ model: "imgB-4o-image", prompt, images: [image] });

test.each([
  ["never answer", () => new Promise<Response>(() => undefined)],
  ["stall within their bodies", stalls],
])("images of two accounts at hosts that %s take no permits of another account's images", async (_, answer) => {
  const [first, second, other] = [await newAccount(), await newAccount(), await newAccount()];
  const late = Promise.withResolvers<void>();
  const hanging = "https://hanging.example.com/a";
  const fetched = internet({ [hanging]: () => Promise.race([late.promise.then(toPng), answer()]), [url]: toPng });
  const ids: string[] = [];
  for (const account of [first, first, first, second, second, second])
    ids.push(await submit(account, "/v1/images/generations", withImage(unique(), hanging)));
  for (const id of ids) void deliver(id, "gateway-starts", strict);
  await vi.waitFor(() => expect(fetched).toHaveBeenCalledTimes(6));
  const prompt = unique();
  const id = await submit(other, "/v1/images/generations", withImage(prompt, url));
  await deliver(id, "gateway-starts", strict);
  expect((await upstreamCalls(prompt)).length).toBe(1);
  await Promise.all(ids.map((one, at) => call(`/v1/tasks/${one}/cancel`, { key: (at < 3 ? first : second).key, method: "POST" })));
  late.resolve();
});

test("after a host was slow, consumers leave the account's starts that read URLs to the task objects, which run them ten seconds later", async () => {
  const [slow, other] = [await newAccount(), await newAccount()];
  const late = Promise.withResolvers<void>();
  internet({ "https://hanging.example.com/a": () => late.promise.then(toPng), [url]: toPng });
  const sends = spyOn(bindings.queue(), "send").mockClear();
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const first = await submit(slow, "/v1/images/generations", withImage(unique(), "https://hanging.example.com/a"));
  const held = deliver(first, "gateway-starts", strict);
  await vi.waitFor(() => expect(fetch).toHaveBeenCalledOnce());
  await vi.advanceTimersByTimeAsync(5_000);
  vi.useRealTimers();
  holdTime();
  late.resolve();
  await held;

  const [own, others] = [unique(), unique()];
  const id = await submit(slow, "/v1/images/generations", withImage(own, url));
  const fields = sends.mock.lastCall![0] as { readsUrlsOf: string };
  expect(fields.readsUrlsOf).toBe(slow.id);
  expect(await deliver(id, "gateway-starts", strict, fields)).toBe("ack");
  expect(await upstreamCalls(own)).toEqual([]);
  await pass(id, 10);
  expect((await upstreamCalls(own)).length).toBe(1);

  const another = await submit(other, "/v1/images/generations", withImage(others, url));
  await deliver(another, "gateway-starts", strict, sends.mock.lastCall![0] as object);
  expect((await upstreamCalls(others)).length).toBe(1);
  const plain = unique();
  await deliver(await submit(slow, "/v1/images/generations", { model: "imgB-4o-image", prompt: plain }), "gateway-starts", strict);
  expect((await upstreamCalls(plain)).length).toBe(1);
});
