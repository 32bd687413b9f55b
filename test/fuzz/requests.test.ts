/** Every answer is a documented one, whatever is sent. */

import "../support/alone.ts";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { asAdmin, readBalance, call, holdTime, newAccount } from "../support/gateway.ts";
import { expectDocumented, readVideo, within1s } from "./answers.ts";
import { bodies, headers, paths, query, segment } from "./requests.ts";

holdTime();

const endpoints: { name: string; method: string; path: string; statuses: number[] }[] = [
  { name: "chat", method: "POST", path: "/v1/chat/completions", statuses: [200, 400] },
  { name: "images", method: "POST", path: "/v1/images/generations", statuses: [200, 400] },
  { name: "videos", method: "POST", path: "/v1/videos/generations", statuses: [200, 400, 404] },
  { name: "remix", method: "POST", path: "/v1/videos/{video}/remix", statuses: [200, 400] },
  { name: "remix of nothing", method: "POST", path: "/v1/videos/task_x/remix", statuses: [400, 404] },
  { name: "cancel", method: "POST", path: "/v1/tasks/{video}/cancel", statuses: [400, 409] },
  { name: "accounts", method: "POST", path: "/admin/accounts", statuses: [201, 400, 409] },
  { name: "an account", method: "PATCH", path: "/admin/accounts/{account}", statuses: [200, 400] },
  { name: "keys", method: "POST", path: "/admin/accounts/{account}/keys", statuses: [201, 400] },
];

for (const { name, method, path, statuses } of endpoints)
  test(`any body to ${name} has a documented answer`, async () => {
    const account = await newAccount(null);
    const video = path.includes("{video}") ? await readVideo(account) : "";
    const to = path.replace("{video}", video).replace("{account}", account.id);
    const key = path.startsWith("/admin") ? "test-admin" : account.key;
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const answer = await within1s(() => call(to, { key, method, body }));
        expectDocumented(to, answer);
        expect(statuses).toContain(answer.status);
      }),
      { numRuns: 100 },
    );
    await readBalance(account);
  });

test("any path, method, query and headers have a documented answer", async () => {
  const account = await newAccount(null);
  const video = await readVideo(account);
  const asset = new URL((await call(`/v1/videos/generations/${video}`, { key: account.key })).body.url as string);
  const fill = (part: string) => part.replace("{video}", video).replace("{key}", account.key).replace("{account}", account.id);
  const path = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...paths), query).map(([known, asked]) => `${fill(known)}?${fill(asked)}`) },
    { weight: 2, arbitrary: fc.tuple(fc.array(segment, { maxLength: 5 }), query).map(([parts, asked]) => `/${parts.join("/")}?${asked}`) },
    { weight: 1, arbitrary: fc.constantFrom(asset.pathname + asset.search, asset.pathname, `${asset.pathname}x${asset.search}`) },
  );
  const methods = fc.constantFrom("GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS");
  await fc.assert(
    fc.asyncProperty(path, methods, headers, fc.option(bodies, { nil: undefined }), async (to, method, given, body) => {
      const entries = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const sent = Object.fromEntries(entries.map(([name, value]) => [name, fill(value)]));
      const takesBody = method !== "GET" && method !== "HEAD";
      const answer = await within1s(() => call(to, { method, headers: sent, ...(takesBody && body !== undefined && { body }) }));
      expectDocumented(to, answer, method === "HEAD");
    }),
    { numRuns: 400 },
  );
  expect((await asAdmin("/audit")).status).toBe(200);
});
