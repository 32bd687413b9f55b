/** MiniMax's video API, emulated: v1 (platform.minimax.io, "Video Generation", "Files") and v2 ("Video V2"), each with its own errors. */

import { type Context, Hono } from "hono";
import { expectCalls } from "../calls.ts";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { publish } from "../files.ts";
import { providerKeys } from "../keys.ts";
import { type Body, checkV1, checkV2, promptOfV2 } from "./rules.ts";

interface Task {
  id: string;
  prompt: string;
  body: Body;
  isCancelled?: boolean;
  path?: string;
}

const tasks = new Map<string, Task>();
/** Keyed by the digits of an int64, which a JavaScript number cannot represent. */
const videosById = new Map<string, Task>();
const upstream = "minimax";

let ids = 0;
/** Nineteen odd last digits: rounded to a JavaScript number it is the id of no file. */
const int64 = () => `${2_417_000_000_000_000_001n + BigInt(Date.now()) * 1000n + BigInt(2 * ++ids)}`;

const sentences = {
  0: "success",
  1000: "unknown error",
  1002: "rate limit, please retry later",
  1004: "login fail: Please carry the API secret key in the 'Authorization' field of the request header",
  1008: "insufficient balance",
  1026: "video description contains sensitive content",
  1027: "generated video contains sensitive content",
  1028: "quota exhausted",
  1041: "conn limit",
  1042: "invisible character ratio limit",
  2013: "invalid params",
  2045: "rate growth limit",
  2049: "invalid api key",
  2056: "usage limit exceeded",
  2061: "your current token plan not support model",
};
type Code = keyof typeof sentences;
/** The body of v2's answers. */
const kinds = {
  1000: [500, "server_error"],
  1002: [429, "rate_limit_error"],
  1004: [401, "authorized_error"],
  1008: [402, "insufficient_balance_error"],
  1026: [422, "unprocessable_entity_error"],
  2013: [400, "bad_request_error"],
  2049: [401, "authorized_error"],
} as const;

interface Refusal<C = Code> {
  code: C;
  sentence: string;
}
const refusal = <C extends Code>(code: C, sentence: string = sentences[code]): Refusal<C> => ({ code, sentence });

/** The key is checked first, whatever else is wrong. */
function unauthorised(c: Context): Refusal<keyof typeof kinds> | undefined {
  const sent = c.req.header("authorization");
  if (!sent?.startsWith("Bearer ")) return refusal(1004);
  return sent === `Bearer ${providerKeys.MINIMAX_API_KEY}` ? undefined : refusal(2049);
}

/** The refusal that a prompt's directive asks for at submission. */
function ordered(prompt: string): Refusal<keyof typeof kinds> | undefined {
  if (hasDirective(prompt, "limit")) return refusal(1002);
  if (hasDirective(prompt, "wallet")) return refusal(1008);
  if (hasDirective(prompt, "retired")) return refusal(2013, "invalid params, unsupported model");
  if (hasDirective(prompt, "broken")) return refusal(1000);
  if (hasDirective(prompt, "bad-image")) return refusal(2013, "invalid params, first_frame_image: cannot download image");
  return hasDirective(prompt, "moderated") ? refusal(1026) : undefined;
}

function accept(prompt: string, body: Body, url: unknown): Task {
  const task: Task = { id: int64(), prompt, body };
  tasks.set(task.id, task);
  // The challenge is sent first: if it is not echoed within three seconds, no callback follows.
  if (typeof url === "string")
    expectCalls(prompt, url, "plain", () => [
      { challenge: `challenge-${task.id}` },
      ...["processing", "success"].map((status) => ({ task_id: task.id, status, file_id: "", base_resp: { status_code: 0 } })),
    ]);
  if (hasDirective(prompt, "drop")) throw new Dropped();
  return task;
}

function readState(task: Task): "cancelled" | "queued" | "running" | "failed" | "sensitive" | "succeeded" {
  if (task.isCancelled) return "cancelled";
  if (hasDirective(task.prompt, "queued")) return "queued";
  if (hasDirective(task.prompt, "running")) return "running";
  if (hasDirective(task.prompt, "moderated-later")) return "sensitive";
  return hasDirective(task.prompt, "fails") ? "failed" : "succeeded";
}

const toUrl = (c: Context, task: Task) => c.req.header("x-emulator-files")! + (task.path ??= publish(upstream, task.prompt, "video"));
const trouble = (c: Context, prompt: string, word: string) =>
  hasDirective(prompt, `${word}unavailable`) ? c.text("upstream connect error", 503) : undefined;

/** v1: always HTTP 200, and JSON written as text because its ids are larger than JavaScript's numbers. */
const answerV1 = (c: Context, fields: string[], { code, sentence }: Refusal = refusal(0)) =>
  c.body(`{${[...fields, `"base_resp":${JSON.stringify({ status_code: code, status_msg: sentence })}`].join(",")}}`, 200, {
    "content-type": "application/json; charset=utf-8",
    "trace-id": crypto.randomUUID().replaceAll("-", ""),
  });

const statusWords = {
  queued: "Queueing",
  running: "Processing",
  failed: "Fail",
  sensitive: "Fail",
  succeeded: "Success",
  cancelled: "Fail",
} as const;

const v1 = new Hono()
  .post("/video_generation", async (c) => {
    const denied = unauthorised(c);
    if (denied) return answerV1(c, [`"task_id":""`], denied);
    const { callback_url: url, ...body } = await c.req.json<Body>();
    const prompt = String(body["prompt"]);
    record({ upstream, call: "start", prompt, body });
    const wrong = checkV1(body);
    const refused = wrong === undefined ? ordered(prompt) : refusal(2013, `invalid params, ${wrong}`);
    if (refused) return answerV1(c, [`"task_id":""`], refused);
    if (hasDirective(prompt, "connections")) return answerV1(c, [`"task_id":""`], refusal(1041));
    if (hasDirective(prompt, "invisible")) return answerV1(c, [`"task_id":""`], refusal(1042));
    if (hasDirective(prompt, "growth")) return answerV1(c, [`"task_id":""`], refusal(2045));
    if (hasDirective(prompt, "used-up")) return answerV1(c, [`"task_id":""`], refusal(2056));
    if (hasDirective(prompt, "plan-over")) return answerV1(c, [`"task_id":""`], refusal(1028));
    if (hasDirective(prompt, "not-in-plan")) return answerV1(c, [`"task_id":""`], refusal(2061));
    return trouble(c, prompt, "") ?? answerV1(c, [`"task_id":"${accept(prompt, body, url).id}"`]);
  })
  .get("/query/video_generation", (c) => {
    const denied = unauthorised(c);
    if (denied) return answerV1(c, [], denied);
    const task = tasks.get(c.req.query("task_id") ?? "");
    if (!task) return answerV1(c, [], refusal(2013, "invalid params, task_id"));
    record({ upstream, call: "poll", prompt: task.prompt });
    if (hasDirective(task.prompt, "poll-limit")) return answerV1(c, [], refusal(1002));
    if (hasDirective(task.prompt, "poll-forgotten")) return answerV1(c, [], refusal(2013, "invalid params, task_id"));
    const failing = trouble(c, task.prompt, "poll-");
    if (failing) return failing;
    const state = readState(task);
    const common = [`"task_id":"${task.id}"`, `"status":"${hasDirective(task.prompt, "odd-status") ? "Rendering" : statusWords[state]}"`];
    const code = state === "sensitive" ? 1027 : state === "failed" ? 1000 : 0;
    if (state !== "succeeded") return answerV1(c, [...common, `"file_id":""`], refusal(code));
    const fileId = [...videosById].find(([, video]) => video === task)?.[0] ?? int64();
    videosById.set(fileId, task);
    // The reference documents a string; numbers have been observed.
    const written = hasDirective(task.prompt, "text-id") ? `"${fileId}"` : fileId;
    return answerV1(c, [...common, `"file_id":${written}`, `"video_width":1366`, `"video_height":768`]);
  })
  .get("/files/retrieve", (c) => {
    const denied = unauthorised(c);
    if (denied) return answerV1(c, [], denied);
    const fileId = c.req.query("file_id") ?? "";
    const task = videosById.get(fileId);
    if (!task) return answerV1(c, [`"file":null`], refusal(2013, "invalid params, file_id"));
    record({ upstream, call: "retrieve", prompt: task.prompt });
    if (hasDirective(task.prompt, "file-gone")) return answerV1(c, [`"file":null`], refusal(2013, "invalid params, file_id"));
    if (hasDirective(task.prompt, "retrieve-limit")) return answerV1(c, [`"file":null`], refusal(1002));
    const rest = {
      bytes: 0,
      created_at: 1_700_469_398,
      filename: "output_aigc.mp4",
      purpose: "video_generation",
      download_url: toUrl(c, task),
    };
    return answerV1(c, [`"file":{"file_id":${fileId},${JSON.stringify(rest).slice(1)}`]);
  });

/** v2: an HTTP status, and the code in brackets at the end of the message. */
const refuseV2 = (c: Context, { code, sentence }: Refusal<keyof typeof kinds>) => {
  const [status, type] = kinds[code];
  const error = { type, message: `${sentence} (${code})`, http_code: String(status) };
  return c.json({ type: "error", error, request_id: crypto.randomUUID().replaceAll("-", "") }, status);
};

/** What a query of unknown work answers: a server's error by its status and code. */
const notFound = refusal(1000, "record not found");

const v2 = new Hono()
  .post("/video_generation", async (c) => {
    const denied = unauthorised(c);
    if (denied) return refuseV2(c, denied);
    const { callback_url: url, ...body } = await c.req.json<Body>();
    const prompt = promptOfV2(body);
    record({ upstream, call: "start", prompt, body });
    const wrong = checkV2(body);
    const refused = wrong === undefined ? ordered(prompt) : refusal(2013, `invalid params, ${wrong}`);
    if (refused) return refuseV2(c, refused);
    return trouble(c, prompt, "") ?? c.json({ task_id: accept(prompt, body, url).id });
  })
  .get("/query/video_generation/:id", (c) => {
    const denied = unauthorised(c);
    if (denied) return refuseV2(c, denied);
    const task = tasks.get(c.req.param("id"));
    if (!task) return refuseV2(c, notFound);
    record({ upstream, call: "poll", prompt: task.prompt });
    if (hasDirective(task.prompt, "poll-limit")) return refuseV2(c, refusal(1002));
    if (hasDirective(task.prompt, "poll-forgotten")) return refuseV2(c, notFound);
    const failing = trouble(c, task.prompt, "poll-");
    if (failing) return failing;
    const state = readState(task);
    const { model, resolution, duration, ratio } = task.body;
    const facts = {
      id: task.id,
      model,
      resolution,
      duration,
      ratio: ratio ?? "adaptive",
      created_at: 1_700_469_398,
      updated_at: 1_700_469_399,
    };
    if (state === "sensitive") return c.json({ task: { ...facts, status: "failed", error: { code: "1027", message: sentences[1027] } } });
    if (state === "failed") return c.json({ task: { ...facts, status: "failed", error: { code: 1000, message: sentences[1000] } } });
    if (state !== "succeeded") return c.json({ task: { ...facts, status: state, content: null, error: null } });
    if (hasDirective(task.prompt, "times-out")) return c.json({ task: { ...facts, status: "expired" } });
    return c.json({ task: { ...facts, status: state, content: { url: toUrl(c, task) }, error: null } });
  })
  // A running task cannot be cancelled.
  .delete("/video_generation/:id", (c) => {
    const denied = unauthorised(c);
    if (denied) return refuseV2(c, denied);
    const task = tasks.get(c.req.param("id"));
    if (!task) return refuseV2(c, refusal(2013, "invalid task_id"));
    record({ upstream, call: "cancel", prompt: task.prompt });
    const state = readState(task);
    if (state === "running" || state === "cancelled") return refuseV2(c, refusal(2013, `task is ${state}`));
    if (state === "queued") task.isCancelled = true;
    else tasks.delete(task.id);
    return c.json({ task_id: task.id, action: state === "queued" ? "cancelled" : "deleted" });
  });

export const minimax = new Hono()
  .onError((error) => {
    throw error;
  })
  .route("/v1", v1)
  .route("/v2", v2);
