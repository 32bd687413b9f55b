/** Malformed headers, as scanners send them: an error of the path's family with a proper status, never a 500. Contract 5. */

import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { call, finish, holdTime, newAccount, image, newTask } from "../../support/gateway.ts";
import { expectRefusal } from "../../support/refusal.ts";

holdTime();

const images = "/v1/images/generations";
const long = "x".repeat(100_000);

const keyed = ["/v1/tasks", "/v1/tasks/x", "/v1/models", "/v1/characters", "/v1/balance", "/v1/user/balance", "/admin/audit"];

test.each(keyed)("%s with a malformed Authorization is 401", async (path) => {
  const { key } = await newAccount();
  const own = path.startsWith("/admin") ? "test-admin" : key;
  for (const authorization of [
    `Bearer ${long}`,
    `Bearer ${own}${long}`,
    `${"Bearer ".repeat(1_000)}${own}`,
    `Bearer ${own}, Bearer ${own}`,
    `Bearer\t${own}`,
    `Bearer "${own}"`,
    `Bearer token=${own}`,
    `Bearer' OR 1=1 -- ${own}`,
  ])
    expectRefusal(path, await call(path, { headers: { authorization } }), [401]);
});

test("two Authorization headers are 401, also when both are valid", async () => {
  const { key } = await newAccount();
  const headers = new Headers([
    ["authorization", `Bearer ${key}`],
    ["authorization", `Bearer ${key}`],
  ]);
  const response = await exports.default.fetch("https://gateway.example/v1/tasks", { headers });
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({ code: 401, error: { code: "unauthorized" } });
});

test.each(["/v1/images/generations", "/v1/videos/generations"])("%s with an Idempotency-Key of any length or characters", async (path) => {
  const { key } = await newAccount();
  const model = path === images ? "imgA-4" : "vidB-3.1-fast";
  for (const given of [long, "k".repeat(256), "a\tb", "a\u007f"]) {
    const answer = await call(path, { key, body: { model, prompt: "p" }, headers: { "idempotency-key": given } });
    expectRefusal(path, answer, [400]);
    expect(answer.body.error.param).toBe("Idempotency-Key");
  }
});

test("two Idempotency-Key headers form one key, and a repeat with both is a replay", async () => {
  const { key } = await newAccount();
  const body = JSON.stringify(image());
  const send = async () => {
    const headers = new Headers({ authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": "one" });
    headers.append("idempotency-key", "two");
    const response = await exports.default.fetch(`https://gateway.example${images}`, { method: "POST", headers, body });
    return {
      status: response.status,
      replayed: response.headers.get("idempotent-replayed"),
      id: (await response.json<{ id: string }>()).id,
    };
  };
  const first = await send();
  expect(first).toMatchObject({ status: 200, replayed: null });
  expect(await send()).toEqual({ ...first, replayed: "true" });
});

test("two content types, or a very long one, are 415", async () => {
  const { key } = await newAccount();
  for (const type of ["application/json, text/plain", "text/plain, application/json", long, `application/json${long}`])
    expectRefusal(images, await call(images, { key, body: image(), headers: { "content-type": type } }), [415]);
});

test("an Accept-Language of any size gets an answer in a supported language", async () => {
  const { key } = await newAccount();
  const huge = Array.from({ length: 20_000 }, (_, at) => `x${at};q=0.${at}`).join(",");
  for (const [given, language] of [
    [`ko,${huge}`, "ko"],
    [`${huge},ko`, "en"],
    [long, "en"],
    ["ko;q=1e999", "ko"],
    ["ko;q=NaN, ja;q=-1", "en"],
    ["__proto__, constructor", "en"],
    [";;;,,,;q=;", "en"],
  ]) {
    const answer = await call("/v1/tasks/x", { key, headers: { "accept-language": given! } });
    expectRefusal("/v1/tasks/x", answer, [404]);
    expect(answer.headers.get("content-language"), given!.slice(0, 40)).toBe(language);
  }
  expect((await call(`/v1/tasks/x?language=${long.slice(0, 8_000)}`, { key })).headers.get("content-language")).toBe("en");
});

test("validators and ranges of any size are answered as if they did not match", async () => {
  const { account, id } = await newTask();
  const { data } = (await finish(account, id)).body;
  const url = data.result.images[0].url[0] as string;
  const tags = Array.from({ length: 10_000 }, (_, at) => `W/"${at}"`).join(", ");
  for (const given of [tags, long, '"', "W/", ",,,"])
    for (const path of [`/v1/tasks/${id}`, url])
      expect((await call(path, { key: account.key, headers: { "if-none-match": given } })).status, given.slice(0, 20)).toBe(200);
  const digits = "9".repeat(50_000);
  for (const range of [`bytes=${digits}-`, `bytes=-${digits}`, `bytes=0-${digits}`, `bytes=${"0-0,".repeat(10_000)}0-0`, long])
    expect((await call(url, { headers: { range } })).status, range.slice(0, 20)).toBe(200);
});
