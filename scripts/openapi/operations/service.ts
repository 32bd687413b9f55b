/** Files, the gateway's health, and this description. */

import { anyTypes } from "../../../src/media/any-type.ts";
import { errorAnswer } from "../../../src/api/schema/errors.ts";
import { entryPoints } from "../../../src/api/schema/links.ts";
import { notReady, health, readiness, statusAnswer } from "../../../src/api/schema/ready.ts";
import { answer, json, notModified, tagged, type Untagged } from "../definition.ts";

const ofFile = ["etag", "accept-ranges", "repr-digest", "cache-control", "content-disposition", "access-control-allow-origin"] as const;
const files = (...types: string[]) => Object.fromEntries(types.map((type) => [type, {}]));

const file = (id: string, summary: string, ...types: string[]): Untagged => ({
  id,
  tag: "assets",
  summary,
  description: "Use the URL of an answer unchanged: its query has the signature. No key is needed.",
  security: "none",
  headers: ["Range", "If-Range", "If-None-Match"],
  answers: {
    200: { description: "The file.", headers: [...ofFile, "content-length"], content: files(...types) },
    206: {
      description: "The requested range.",
      headers: [...ofFile, "content-length", "content-range"],
      content: files(...types),
    },
    304: { description: "The file has not changed.", headers: [...ofFile] },
  },
  errors: ["invalid_signature", "asset_expired", "range_not_satisfiable"],
});

const base = "https://gateway.example";

export const service = tagged("service", {
  "GET /": {
    id: "getLinks",
    summary: "Show the entry points",
    description: "Links for programs. With `text/html` in `Accept` the answer is the landing page.",
    security: "none",
    answers: {
      200: {
        description: "Links to the API, its models and its documentation.",
        content: {
          ...json(entryPoints, {
            links: {
              object: "gateway",
              api: `${base}/v1`,
              models: `${base}/v1/models`,
              health: `${base}/healthz`,
              docs: `${base}/docs`,
              openapi: `${base}/openapi.json`,
              llms: `${base}/llms.txt`,
            },
          }),
          "text/html": {},
        },
      },
    },
  },
  "GET /assets/{task_id}/{file}": file("getAsset", "Download a file", ...anyTypes()),
  "GET /characters/{character_id}": file("getCharacterImage", "Download a character's image", "image/png", "image/jpeg", "image/webp"),
  "GET /healthz": {
    id: "getHealth",
    summary: "Check that the gateway runs",
    security: "none",
    answers: { 200: answer("It runs.", health, { ok: { status: "ok" } }) },
  },
  "GET /status": {
    id: "getStatus",
    summary: "Show the service status",
    description:
      "How the tasks and chats of all accounts ended in the last hour, by kind. With `text/html` in `Accept` the answer is a page. At most 30 seconds old.",
    security: "none",
    answers: {
      200: {
        description: "The status.",
        headers: ["cache-control"],
        content: {
          ...json(statusAnswer, {
            good: {
              object: "status",
              api: "operational",
              submissions: "operational",
              kinds: [{ kind: "image", completion_rate: 0.998, median_seconds: 7.3 }],
              updated_at: 1_795_305_600,
            },
          }),
          "text/html": {},
        },
      },
    },
  },
  "GET /readyz": {
    id: "getReadiness",
    summary: "Check database, bucket, objects and configuration",
    security: "none",
    answers: {
      200: answer(
        "All of them answer. `cron` is `stale` if the operator's checks, which also send alerts, have not run for a quarter of an hour.",
        readiness,
        {
          ok: { status: "ok", version: "5d0c1a52-9f43-4c5e-8f0e-2f3b6f0f7a11", cron: "ok", checked_at: 1_795_305_600 },
          stale: { status: "ok", cron: "stale", checked_at: 1_795_302_000 },
        },
        ["cache-control"],
      ),
      503: answer(
        "`failing` names those that did not answer within five seconds, and `configuration` while a variable that submissions need is wrong (the log names it).",
        [notReady, errorAnswer],
        { not_ready: { status: "unavailable", failing: ["database"] } },
        ["cache-control", "retry-after"],
      ),
    },
  },
  "GET /openapi.json": {
    id: "getDescription",
    summary: "Show this description",
    security: "none",
    headers: ["If-None-Match"],
    answers: {
      200: {
        description: "OpenAPI 3.1.",
        headers: ["etag", "cache-control", "access-control-allow-origin"],
        content: { "application/json": {} },
      },
      304: notModified(),
    },
  },
});
