/** The check of every answer that tests receive finds differences from the API description. */

import { expect, test, vi } from "vitest";
import worker from "../../../src/worker.ts";
import { conform } from "../../support/conform.ts";
import { call } from "../../support/gateway.ts";

const origin = "https://gateway.example";
const json = { "content-type": "application/json" };
const headers = new Headers({ ...json, "x-request-id": "1", "content-language": "en", location: "/v1/tasks/task_a", etag: "W/1" });
const submission = {
  id: "task_a",
  object: "generation.task",
  model: "imgA-4",
  status: "queued",
  progress: 0,
  created_at: 1,
  metadata: { kind: "image", reserved: 1 },
};
const error = (code: string) => ({ error: { message: "", type: "invalid_request", code, param: null } });
const received = (status: number, body: object, more: Record<string, string | undefined> = {}) => {
  const changed = new Headers(headers);
  for (const [name, value] of Object.entries(more))
    if (value === undefined) changed.delete(name);
    else changed.set(name, value);
  return { status, headers: changed, body: JSON.stringify(body) };
};
const images = `${origin}/v1/images/generations`;

test("a documented answer passes", () => {
  conform("POST", images, received(200, submission));
  conform("POST", images, received(400, error("invalid_json")));
  conform("POST", `${images}/`, received(200, submission));
  conform("GET", `${origin}/v1/tasks/task_a`, { status: 304, headers });
  conform("GET", `${origin}/v2/tasks`, received(404, error("not_found")));
  conform("PATCH", images, received(405, error("method_not_allowed")));
});

test.each<[what: string, method: string, url: string, answer: ReturnType<typeof received>, problem: RegExp]>([
  ["a field", "POST", images, received(200, { ...submission, cost: 1 }), /cost/],
  ["the lack of a field", "POST", images, received(200, { ...submission, id: undefined }), /"id"/],
  ["a value", "POST", images, received(200, { ...submission, status: "submitted" }), /queued/],
  ["a status", "POST", images, received(201, submission), /201 is not documented/],
  ["an error's code", "POST", images, received(409, error("conflict")), /code conflict is not documented/],
  ["another family's error", "GET", `${origin}/v1/tasks/task_a`, received(404, error("task_not_found")), /code/],
  ["a media type", "POST", images, received(200, submission, { "content-type": "text/html" }), /text\/html is not documented/],
  ["the lack of a header", "POST", images, received(200, submission, { "x-request-id": undefined }), /x-request-id is missing/],
  ["a method", "PATCH", images, received(200, submission), /PATCH is not documented/],
  ["a path", "GET", `${origin}/v1/secrets`, received(200, {}), /path is not documented/],
  [
    "the type of an event",
    "GET",
    `${origin}/v1/tasks/task_a/events`,
    { ...received(200, {}, { "content-type": "text/event-stream" }), body: 'id: 1\ndata: {"id": 1}\n\n' },
    /event/,
  ],
  [
    "the data of an event",
    "GET",
    `${origin}/v1/tasks/task_a/events`,
    { ...received(200, {}, { "content-type": "text/event-stream" }), body: 'event: task\nid: 1\ndata: {"id": 1}\n\n' },
    /id/,
  ],
])("%s that is not documented fails the test", (_, method, url, answer, problem) => {
  expect(() => conform(method, url, answer)).toThrow(problem);
});

test("the tests' own request function checks each answer", async () => {
  vi.spyOn(worker, "fetch").mockResolvedValueOnce(Response.json({ success: true, balance: 1 }, { headers: { "x-request-id": "1" } }));
  await expect(call("/v1/balance", { vars: {} })).rejects.toThrow(/GET \/v1\/balance 200/);
});
