/** Delivery of stored outputs: ranges, validators, digests, signatures and expiry. Contract 3. */

import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { conform } from "../../support/conform.ts";
import { bindings } from "../../support/faults.ts";
import { type Account, call, finish, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";

holdTime();

/** Creates an image: its signed URL, its task id and its expiry. */
async function makeImage(account?: Account): Promise<{ url: URL; id: string; expiresAt: number }> {
  const owner = account ?? (await newAccount());
  const id = await submit(owner, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const { body } = await finish(owner, id);
  return { url: new URL(body.data.result.images[0].url[0]), id, expiresAt: body.data.expires_at };
}

async function get(url: URL, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
  const response = await exports.default.fetch(url.href, { method, headers });
  conform(method, url.href, { status: response.status, headers: response.headers });
  return response;
}

function altered(url: URL, change: (url: URL) => void): URL {
  const other = new URL(url);
  change(other);
  return other;
}

/** The same bytes in another Base64 encoding: a lenient decoder ignores the two low bits of the last character. */
const respelled = (text: string) => text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) + 1);

const flipped = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1);

test("the URL is on the gateway's own host and carries its expiry: a day after completed_at, to the second", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const { data } = (await finish(account, id)).body;
  const url = new URL(data.result.images[0].url[0]);
  expect(url.origin).toBe("https://gateway.example");
  expect(data.expires_at).toBe(data.completed_at + 86_400);
  expect(url.searchParams.get("expires")).toBe(String(data.expires_at));
});

test("GET needs no key, and its headers describe the file", async () => {
  const { url } = await makeImage();
  const response = await get(url);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(response.status).toBe(200);
  expect(bytes.subarray(1, 4)).toEqual(new TextEncoder().encode("PNG"));
  const { headers } = response;
  expect(headers.get("content-type")).toBe("image/png");
  expect(headers.get("content-length")).toBe(String(bytes.length));
  expect(headers.get("content-disposition")).toBe("inline");
  expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(headers.get("accept-ranges")).toBe("bytes");
  expect(headers.get("etag")).toMatch(/^"[^"]+"$/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toBase64();
  expect(headers.get("repr-digest")).toBe(`sha-256=:${digest}:`);
});

test("HEAD has the same headers without a body", async () => {
  const { url } = await makeImage();
  const whole = await get(url);
  await whole.arrayBuffer();
  const head = await get(url, {}, "HEAD");
  expect(head.status).toBe(200);
  expect(await head.text()).toBe("");
  for (const name of ["content-type", "content-length", "etag", "repr-digest", "content-disposition", "access-control-allow-origin"])
    expect(head.headers.get(name), name).toBe(whole.headers.get(name));
  for (const range of ["bytes=0-9", "bytes=999999999-"]) {
    const { status, headers } = await get(url, { range }, "HEAD");
    expect([status, headers.get("content-length"), headers.get("content-range")]).toEqual([200, whole.headers.get("content-length"), null]);
  }
});

test("a single byte range is 206 with exactly those bytes", async () => {
  const { url } = await makeImage();
  const bytes = new Uint8Array(await (await get(url)).arrayBuffer());
  const size = bytes.length;
  const ranges: [string, number, number][] = [
    ["bytes=0-0", 0, 0],
    ["bytes=0-9", 0, 9],
    ["bytes=10-19", 10, 19],
    ["bytes=10-", 10, size - 1],
    ["bytes=-5", size - 5, size - 1],
    [`bytes=-${size + 100}`, 0, size - 1],
    [`bytes=5-${size + 100}`, 5, size - 1],
    [`bytes=5-${"9".repeat(30)}`, 5, size - 1],
    [`bytes=-${"9".repeat(30)}`, 0, size - 1],
    ["Bytes=0-9", 0, 9],
  ];
  for (const [range, first, last] of ranges) {
    const part = await get(url, { range });
    expect(part.status, range).toBe(206);
    expect(part.headers.get("content-range")).toBe(`bytes ${first}-${last}/${size}`);
    expect(part.headers.get("content-length")).toBe(String(last - first + 1));
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(first, last + 1));
  }
});

test("a range costs one call of the bucket", async () => {
  const { url } = await makeImage();
  const calls = ["get", "head"].map((method) => vi.spyOn(bindings.bucket() as unknown as Record<string, () => unknown>, method));
  expect((await get(url, { range: "bytes=2-5" })).status).toBe(206);
  expect(calls.map((spy) => spy.mock.calls.length)).toEqual([1, 0]);
});

test("a range outside the file is 416 and states the file's size", async () => {
  const { url } = await makeImage();
  const size = (await (await get(url)).arrayBuffer()).byteLength;
  for (const range of [`bytes=${size}-`, `bytes=${size}-${size + 5}`, "bytes=-0", `bytes=${"9".repeat(30)}-`]) {
    const { status, headers, body } = await call(url.href, { headers: { range } });
    expect(status, range).toBe(416);
    expect(headers.get("content-range")).toBe(`bytes */${size}`);
    expect(body.error).toMatchObject({ type: "invalid_request", code: "range_not_satisfiable" });
  }
});

test("several ranges, other units and invalid ranges return the whole file", async () => {
  const { url } = await makeImage();
  const size = (await (await get(url)).arrayBuffer()).byteLength;
  for (const range of ["bytes=0-1,3-4", "lines=0-1", "bytes=", "bytes=9-2", "bytes=a-b"]) {
    const response = await get(url, { range });
    expect(response.status, range).toBe(200);
    expect((await response.arrayBuffer()).byteLength).toBe(size);
  }
});

test("If-None-Match with its ETag is 304 without a body", async () => {
  const { url } = await makeImage();
  const etag = (await get(url, {}, "HEAD")).headers.get("etag")!;
  for (const given of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    const response = await get(url, { "if-none-match": given });
    expect(response.status, given).toBe(304);
    expect(response.headers.get("etag")).toBe(etag);
    expect(await response.text()).toBe("");
  }
  const changed = await get(url, { "if-none-match": '"other"' });
  expect(changed.status).toBe(200);
  await changed.arrayBuffer();
});

test("If-Range returns the range when it matches the file, the whole file otherwise", async () => {
  const { url } = await makeImage();
  const etag = (await get(url, {}, "HEAD")).headers.get("etag")!;
  const same = await get(url, { range: "bytes=0-3", "if-range": etag });
  expect(same.status).toBe(206);
  expect((await same.arrayBuffer()).byteLength).toBe(4);
  for (const other of ['"other"', `W/${etag}`]) {
    const whole = await get(url, { range: "bytes=0-3", "if-range": other });
    expect(whole.status, other).toBe(200);
    await whole.arrayBuffer();
  }
});

test("any change to the URL is 403 with an error body, and nothing is read", async () => {
  const account = await newAccount();
  const { url } = await makeImage(account);
  const other = await makeImage(account);
  const read = vi.spyOn(bindings.bucket(), "get");
  const changes: [string, (url: URL) => void][] = [
    ["another signature", (it) => it.searchParams.set("signature", flipped(it.searchParams.get("signature")!))],
    ["the signature of another asset", (it) => it.searchParams.set("signature", other.url.searchParams.get("signature")!)],
    ["no signature", (it) => it.searchParams.delete("signature")],
    ["a later expiry", (it) => it.searchParams.set("expires", String(Number(it.searchParams.get("expires")) + 1))],
    ["an expiry that is no number", (it) => it.searchParams.set("expires", "never")],
    ["no expiry", (it) => it.searchParams.delete("expires")],
    ["another digest", (it) => it.searchParams.set("digest", flipped(it.searchParams.get("digest")!))],
    ["no digest", (it) => it.searchParams.delete("digest")],
    ["the path of another task", (it) => (it.pathname = other.url.pathname)],
    ["another file of the task", (it) => (it.pathname = `${it.pathname}x`)],
    ["a path outside of the assets", (it) => (it.pathname = `/assets/../inputs/${it.pathname}`)],
    ["a longer signature", (it) => it.searchParams.set("signature", `${it.searchParams.get("signature")}A`)],
    ["a padded signature", (it) => it.searchParams.set("signature", `${it.searchParams.get("signature")}=`)],
    ["a shorter signature", (it) => it.searchParams.set("signature", it.searchParams.get("signature")!.slice(0, -1))],
    [
      "another spelling of the signature's last bits",
      (it) => it.searchParams.set("signature", respelled(it.searchParams.get("signature")!)),
    ],
    ["an expiry a year later", (it) => it.searchParams.set("expires", String(Number(it.searchParams.get("expires")) + 31_536_000))],
    ["the expiry with a digit more", (it) => it.searchParams.set("expires", `${it.searchParams.get("expires")}0`)],
    ["the expiry written otherwise", (it) => it.searchParams.set("expires", `0${it.searchParams.get("expires")}`)],
    ["a second expiry before the first", (it) => (it.search = `?expires=99999999999&${it.search.slice(1)}`)],
    ["the whole query of another task", (it) => (it.search = other.url.search)],
    ["the place of a character's image", (it) => (it.pathname = it.pathname.replace("/assets/", "/characters/"))],
    ["another case of the path", (it) => (it.pathname = it.pathname.replace("task_", "TASK_"))],
    ["no query at all", (it) => (it.search = "")],
  ];
  for (const [name, change] of changes) {
    const { status, body, headers } = await call(altered(url, change).href);
    if (name === "a path outside of the assets") expect([403, 404]).toContain(status);
    else {
      expect(status, name).toBe(403);
      expect(body).toEqual({
        error: { message: "The signature of this URL is not valid.", type: "unauthorized", code: "invalid_signature", param: null },
      });
      expect(headers.get("access-control-allow-origin")).toBe("*");
    }
  }
  expect(read).not.toHaveBeenCalled();
  read.mockRestore();
  expect((await call(url.href)).status).toBe(200);
});

test("a path that is not valid UTF-8 is 403 too", async () => {
  const { url } = await makeImage();
  const { status, body } = await call(altered(url, (it) => (it.pathname = "/assets/%E0%A4%A")).href);
  expect(status).toBe(403);
  expect(body.error).toMatchObject({ type: "unauthorized", code: "invalid_signature" });
});

test("an asset is 410 from the second at which it expires, also for HEAD and ranges", async () => {
  const { url, expiresAt } = await makeImage();
  vi.setSystemTime(expiresAt * 1000 - 1);
  expect((await call(url.href)).status).toBe(200);
  vi.setSystemTime(expiresAt * 1000);
  const { status, body } = await call(url.href);
  expect(status).toBe(410);
  expect(body).toEqual({
    error: { message: "The asset has expired. Submit a new task.", type: "invalid_request", code: "asset_expired", param: null },
  });
  expect((await get(url, {}, "HEAD")).status).toBe(410);
  expect((await call(url.href, { headers: { range: "bytes=0-1" } })).status).toBe(410);
  expect((await call(url.href, { headers: { "if-none-match": "*" } })).status).toBe(410);
});

test("an asset whose file was deleted is 410, also before its URL expires", async () => {
  const { url, id } = await makeImage();
  const { objects } = await env.ASSETS.list({ prefix: `assets/${id}/` });
  await env.ASSETS.delete(objects.map(({ key }) => key));
  const gone = await call(url.href);
  expect(gone.status).toBe(410);
  expect(gone.headers.get("access-control-allow-origin")).toBe("*");
  expect((await get(url, {}, "HEAD")).status).toBe(410);
});

test("a copy of a file whose task was deleted is not confirmed: If-None-Match is 410 too", async () => {
  const account = await newAccount();
  const { url, id } = await makeImage(account);
  const etag = (await get(url, {}, "HEAD")).headers.get("etag")!;
  expect((await call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  for (const given of [etag, "*"])
    expect(await call(url.href, { headers: { "if-none-match": given } })).toMatchObject({
      status: 410,
      body: { error: { code: "asset_expired" } },
    });
});

test("an error about an asset is not kept by caches as the file is", async () => {
  const { url, id } = await makeImage();
  const beyond = await get(url, { range: "bytes=99999999-" });
  const { objects } = await env.ASSETS.list({ prefix: `assets/${id}/` });
  await env.ASSETS.delete(objects.map(({ key }) => key));
  const gone = await get(url, {});
  for (const [response, status] of [
    [beyond, 416],
    [gone, 410],
  ] as const) {
    expect(response.status).toBe(status);
    for (const name of ["cache-control", "etag", "repr-digest"]) expect(response.headers.get(name), name).toBeNull();
  }
});

test("a browser's preflight for a range request is allowed", async () => {
  const { url } = await makeImage();
  const response = await get(url, { origin: "https://elsewhere.example", "access-control-request-headers": "range" }, "OPTIONS");
  expect(response.status).toBe(204);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  expect(response.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("range");
});

test("an asset is read-only: with a valid signature all other methods are refused, and the file stays", async () => {
  const { url } = await makeImage();
  const changes = ["put", "delete"].map((method) => vi.spyOn(bindings.bucket(), method));
  for (const method of ["DELETE", "POST", "PUT", "PATCH"]) {
    const { status, headers, body } = await call(url.href, { method, ...(method !== "DELETE" && { body: "{}" }) });
    expect(status, method).toBe(405);
    expect(headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(body.error).toMatchObject({ type: "invalid_request", code: "method_not_allowed" });
  }
  for (const change of changes) expect(change).not.toHaveBeenCalled();
  expect((await call(url.href)).status).toBe(200);
});

test("URLs signed before a rotation stay valid while the old secret is set", async () => {
  const { url } = await makeImage();
  const rotated = { ASSET_SIGNING_SECRET: "another-secret" };
  const both = { ...rotated, ASSET_SIGNING_SECRET_OLD: env.ASSET_SIGNING_SECRET! };
  expect((await call(url.href, { vars: both })).status).toBe(200);
  expect((await call(url.href, { vars: { ...rotated, ASSET_SIGNING_SECRET_OLD: "" } })).status).toBe(403);
  expect((await call(url.href, { vars: rotated })).status).toBe(403);
  const forged = altered(url, (it) => it.searchParams.set("signature", flipped(it.searchParams.get("signature")!)));
  expect((await call(forged.href, { vars: both })).status).toBe(403);
});
