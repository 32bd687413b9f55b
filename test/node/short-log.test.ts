/** The log of `npm start`: one short line for each request and step, and none that says it again. */

import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { ownLine, shortLine } from "../../scripts/support/short-log.ts";

const at = new Date(2026, 10, 23, 9, 5, 7);
const plain = (text: string) => stripVTControlCharacters(shortLine(text, at) ?? "left out");

test("a request, a step and a settlement are one short line each", () => {
  const task = `task_${"A".repeat(43)}`;
  const request = {
    unit: "request",
    request: "r",
    path: "POST /v1/images/generations",
    status: 200,
    outcome: "ok",
    key: "key_1",
    task,
    model: "imgA-4",
    ms: 182,
  };
  expect(plain(`[gateway] ${JSON.stringify(request)}`)).toBe("09:05:07 POST /v1/images/generations 200 imgA-4 182 ms task_AAAAAAAAAAA…");
  const refused = { unit: "request", request: "r", path: "GET /v1/nothing", status: 404, outcome: "not_found", ms: 2 };
  expect(plain(`[gateway] ${JSON.stringify(refused)}`)).toBe("09:05:07 GET /v1/nothing 404 not_found 2 ms");
  const step = {
    unit: "dispatch",
    request: "r",
    task,
    model: "imgA-4",
    provider: "sandbox",
    attempt: 1,
    step: "start",
    outcome: "accepted",
    ms: 135,
  };
  expect(plain(`[gateway] ${JSON.stringify(step)}`)).toBe("09:05:07 start sandbox accepted imgA-4 135 ms task_AAAAAAAAAAA…");
  const settled = { unit: "settle", task, model: "imgA-4", provider: "sandbox", outcome: "completed", charged: 30_000, ms: 20 };
  expect(plain(`[gateway] ${JSON.stringify(settled)}`)).toBe(
    "09:05:07 settle sandbox completed charged 0.03 imgA-4 20 ms task_AAAAAAAAAAA…",
  );
});

test("an alert keeps its error, also in wrangler's colours", () => {
  const alert = JSON.stringify({ unit: "request", outcome: "internal_error", error: "Error: no such table" });
  expect(plain(`\u001b[31m✘ \u001b[41;31m[\u001b[41;97mERROR\u001b[41;31m]\u001b[0m \u001b[1m${alert}\u001b[0m`)).toBe(
    "09:05:07 request internal_error \n         Error: no such table",
  );
});

test("wrangler's repetitions are left out, other lines stay", () => {
  for (const line of ["[wrangler:info] POST /v1/images/generations 200 OK (366ms)", "[wrangler:info] QUEUE gateway-dispatch 1/1 (145ms)"])
    expect([ownLine(line), shortLine(line)], line).toEqual([undefined, undefined]);
  for (const line of ["E-mail to ann@example.com: Welcome", '[gateway] {"unit":"request"', "[wrangler:error] it broke"])
    expect([ownLine(line), shortLine(line)], line).toEqual([line, line]);
  expect(shortLine("  ")).toBeUndefined();
});
