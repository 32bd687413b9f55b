/** Downloads from hosts that are slow, endless, redirecting or hostile. */

import { expect, test, vi } from "vitest";
import { fetchPublic, type PublicFetchOptions } from "../../src/net/fetch-public.ts";
import { NetError } from "../../src/net/net-error.ts";

const options: PublicFetchOptions = {
  allowPrivate: false,
  ownHosts: ["gateway.example.com"],
  timeoutMs: 5000,
  maxBytes: 1000,
  accept: "image/*",
};

/** Replaces the network: answers by URL. Other hosts do not resolve. */
function internet(hosts: Record<string, (request: Request) => Response | Promise<Response>>) {
  return vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    const answer = hosts[request.url];
    if (!answer) throw new TypeError("Network connection lost.");
    return answer(request);
  });
}

/** Rejects when its signal is aborted, like a fetch, and never before. */
const never = (request: Request) =>
  new Promise<Response>((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));

const redirect = (location: string, status = 302) => new Response(null, { status, headers: { location } });

/** A body that sends `chunk` on every pull, and records when it is cancelled. */
function endless(chunk: Uint8Array) {
  const state = { cancelled: false, sent: 0 };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      state.sent += chunk.length;
      controller.enqueue(chunk.slice());
    },
    cancel() {
      state.cancelled = true;
    },
  });
  return { body, state };
}

const failure = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof NetError)) throw new TypeError("no NetError", { cause: error });
  return { reason: error.reason, retryable: error.retryable };
};

const fetchWhole = async (url: string, changes: Partial<PublicFetchOptions> = {}) =>
  new Response(await fetchPublic(url, { ...options, ...changes })).text();

test("a file is downloaded behind redirects", async () => {
  internet({
    "https://example.com/a": () => redirect("/b", 301),
    "https://example.com/b": () => redirect("https://cdn.example.net/c?d#e", 308),
    "https://cdn.example.net/c?d#e": () => new Response("pixels", { headers: { "content-length": "6" } }),
  });
  expect(await fetchWhole("https://example.com/a")).toBe("pixels");
});

test("an announced length counts only for a body that is not compressed; a body may be missing", async () => {
  internet({
    "https://example.com/zipped": () =>
      new Response("abc", { headers: { "content-encoding": "gzip", "content-length": "1001" }, encodeBody: "manual" }),
    "https://example.com/empty": () => new Response(null),
  });
  await (await fetchPublic("https://example.com/zipped", options)).cancel();
  expect(await fetchWhole("https://example.com/empty")).toBe("");
});

test("no identifying header is sent on any hop", async () => {
  const seen = internet({
    "https://example.com/a": () =>
      new Response(null, { status: 302, headers: { location: "https://evil.example.net/", "set-cookie": "a=b" } }),
    "https://evil.example.net/": () => new Response("x"),
  });
  await fetchWhole("https://example.com/a");
  const sent = seen.mock.calls.map(([input, init]) => {
    const request = new Request(input, init);
    return { method: request.method, redirect: request.redirect, headers: Object.fromEntries(request.headers) };
  });
  const headers = { accept: "image/*", "accept-encoding": "identity", "user-agent": "generation-gateway" };
  expect(sent).toEqual([
    { method: "GET", redirect: "manual", headers },
    { method: "GET", redirect: "manual", headers },
  ]);
});

test("an address that is not public is not fetched", async () => {
  const seen = internet({});
  expect(await failure(fetchPublic("http://127.1/", options))).toEqual({ reason: "blocked_url", retryable: false });
  expect(await failure(fetchPublic("https://gateway.example.com/v1/models", options))).toEqual({ reason: "blocked_url", retryable: false });
  expect(seen).not.toHaveBeenCalled();
});

test("a redirect is followed only to public addresses", async () => {
  const targets = [
    "http://169.254.169.254/latest/meta-data/",
    "//localhost/",
    "https://user:secret@example.com/",
    "file:///etc/passwd",
    "http://[::ffff:10.0.0.1]/",
    "https://gateway.example.com/",
    "http://example.com:8080/",
    "http://[",
  ];
  for (const target of targets) {
    const seen = internet({ "https://example.com/": () => redirect(target) });
    expect(await failure(fetchPublic("https://example.com/", options)), target).toEqual({ reason: "blocked_url", retryable: false });
    expect(seen).toHaveBeenCalledTimes(1);
    vi.restoreAllMocks();
  }
});

test("redirects to private hosts are followed where they are allowed, userinfo never", async () => {
  internet({ "http://localhost:9000/a": () => redirect("/b"), "http://localhost:9000/b": () => new Response("ok") });
  expect(await fetchWhole("http://localhost:9000/a", { allowPrivate: true })).toBe("ok");
  expect((await failure(fetchPublic("http://a:b@localhost:9000/b", { ...options, allowPrivate: true }))).reason).toBe("blocked_url");
});

/** A number of redirects in a row, and a file after the last. */
const chain = (hops: number) =>
  internet({
    ...Object.fromEntries(Array.from({ length: hops }, (_, hop) => [`https://example.com/${hop}`, () => redirect(`/${hop + 1}`)])),
    [`https://example.com/${hops}`]: () => new Response("end"),
  });

test("three redirects are followed, a fourth is not", async () => {
  chain(3);
  expect(await fetchWhole("https://example.com/0")).toBe("end");
  vi.restoreAllMocks();
  const seen = chain(4);
  expect(await failure(fetchPublic("https://example.com/0", options))).toEqual({ reason: "too_many_redirects", retryable: false });
  expect(seen).toHaveBeenCalledTimes(4);
});

/** True if a failure with this status may be retried. */
const isRetryable = async (status: number) => {
  internet({ "https://example.com/": () => new Response(status === 304 ? null : "no", { status }) });
  const result = await failure(fetchPublic("https://example.com/", options));
  expect(result.reason).toBe("bad_status");
  vi.restoreAllMocks();
  return result.retryable;
};

test("every status except success is an error; some are retryable", async () => {
  for (const status of [302, 304, 400, 401, 403, 404, 410]) expect(await isRetryable(status), String(status)).toBe(false);
  for (const status of [408, 429, 500, 502, 503]) expect(await isRetryable(status), String(status)).toBe(true);
});

test("an unreachable host is retryable", async () => {
  internet({});
  expect(await failure(fetchPublic("https://example.com/", options))).toEqual({ reason: "unreachable", retryable: true });
});

test("a body with a declared length above the limit is not read", async () => {
  const { body, state } = endless(new Uint8Array(10));
  internet({ "https://example.com/": () => new Response(body, { headers: { "content-length": "1001" } }) });
  expect(await failure(fetchPublic("https://example.com/", options))).toEqual({ reason: "too_large", retryable: false });
  expect(state.cancelled).toBe(true);
});

test("a body is read up to the last allowed byte", async () => {
  internet({
    "https://example.com/fits": () => new Response(new Blob([new Uint8Array(1000)]).stream()),
    "https://example.com/over": () => new Response(new Blob([new Uint8Array(1001)]).stream()),
  });
  expect(await fetchWhole("https://example.com/fits")).toHaveLength(1000);
  expect(await failure(fetchWhole("https://example.com/over"))).toEqual({ reason: "too_large", retryable: false });
});

test("an endless body is cut off and its source cancelled", async () => {
  const { body, state } = endless(new Uint8Array(100));
  internet({ "https://example.com/": () => new Response(body) });
  expect((await failure(fetchWhole("https://example.com/"))).reason).toBe("too_large");
  expect(state.cancelled).toBe(true);
  expect(state.sent).toBeLessThan(1500);
});

test("a host that never answers causes a timeout", async () => {
  internet({ "https://example.com/": never });
  expect(await failure(fetchPublic("https://example.com/", { ...options, timeoutMs: 5 }))).toEqual({ reason: "timeout", retryable: true });
});

test("the time limit includes the body, whether it is read or not", async () => {
  let cancelled = false;
  const stalled = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array(3)),
        cancel() {
          cancelled = true;
        },
      }),
    );
  internet({ "https://example.com/": stalled });
  expect(await failure(fetchWhole("https://example.com/", { timeoutMs: 5 }))).toEqual({ reason: "timeout", retryable: true });
  expect(cancelled).toBe(true);

  const body = await fetchPublic("https://example.com/", { ...options, timeoutMs: 5 });
  cancelled = false;
  await vi.waitUntil(() => cancelled, { interval: 2 });
  expect((await failure(new Response(body).text())).reason).toBe("timeout");
});

test("the time limit includes the redirects", async () => {
  internet({ "https://example.com/": () => redirect("/slow"), "https://example.com/slow": never });
  expect((await failure(fetchPublic("https://example.com/", { ...options, timeoutMs: 5 }))).reason).toBe("timeout");
});

test("a body that breaks off is an error, a complete one is not", async () => {
  const broken = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new TypeError("Network connection lost.")) });
  internet({ "https://example.com/": () => new Response(broken) });
  expect(await failure(fetchWhole("https://example.com/"))).toEqual({ reason: "interrupted", retryable: true });
});

test("cancelling the body cancels the source and the timer", async () => {
  const { body: source, state } = endless(new Uint8Array(10));
  internet({ "https://example.com/": () => new Response(source) });
  const clear = vi.spyOn(globalThis, "clearTimeout");
  const body = await fetchPublic("https://example.com/", options);
  await body.cancel("enough");
  expect(state.cancelled).toBe(true);
  expect(clear).toHaveBeenCalledTimes(1);
});

test("errors contain no part of the URL", async () => {
  internet({ "https://example.com/?signature=secret": () => new Response("", { status: 500 }) });
  await expect(fetchPublic("https://example.com/?signature=secret", options)).rejects.toThrow(/^bad_status 500$/);
  await expect(fetchPublic("https://user:secret@example.com/", options)).rejects.toThrow(/^blocked_url userinfo$/);
});
