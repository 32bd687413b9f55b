/**
 * BytePlus ModelArk, emulated: images at once, videos as tasks. Its directives beside the common ones: `overloaded`, `quota`, `budget`,
 * `unopened`, `face`, `bad-image`, `paramless` (a refusal with an empty `param`), `no-such-ratio`, `garbled` (accepted, and the answer is not JSON), `forgotten` (polls do not find the task),
 * `locked` (polls are refused: 401), `lapsed` (the task expires), `odd` (an undocumented status), `empty` (succeeded without a video), `only`
 * (only this many images are made), `bare` (a refusal without its envelope), `risk` and `risk-later` (refused by Volcengine's risk control).
 */

import { Hono } from "hono";
import { expectCalls } from "../calls.ts";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { publish } from "../files.ts";
import { providerKeys } from "../keys.ts";
import { errorBody, invalidParameter, orderedRefusal, refuse } from "./errors.ts";
import { type VideoRequest, videoRefusal, readText } from "./videos.ts";
import { type ImageRequest, imageRefusal } from "./images.ts";

const upstream = "modelark";
/** The same as in `../index.ts`, which imports this file. */
const filesHeader = "x-emulator-files";

interface Task {
  id: string;
  request: VideoRequest;
  prompt: string;
  createdAt: number;
  status: string;
  content?: { video_url: string; last_frame_url?: string };
  error?: ReturnType<typeof errorBody>;
}

const tasks = new Map<string, Task>();

const unauthorized = () =>
  refuse(401, "AuthenticationError", "The API key or AK/SK in the request is missing or invalid.", "", "Unauthorized");

const noTask = (id: string) => refuse(404, "ResourceNotFound", `The specified resource ${id} is not found.`, "", "NotFound");

const seconds = () => Math.floor(Date.now() / 1000);

/** A task's next state: each poll is one step, `[queued 2]` and `[running 2]` give that many polls this status. */
function advance(task: Task, files: string): void {
  const { prompt, request } = task;
  if (!["queued", "running", "processing"].includes(task.status)) return;
  if (hasDirective(prompt, "queued")) task.status = "queued";
  else if (hasDirective(prompt, "running")) task.status = "running";
  else if (hasDirective(prompt, "odd")) task.status = "processing";
  else if (hasDirective(prompt, "lapsed")) task.status = "expired";
  else if (hasDirective(prompt, "moderated-later")) {
    task.status = "failed";
    task.error = errorBody(
      "OutputVideoSensitiveContentDetected",
      "The request failed because the output video may contain sensitive information.",
    );
  } else if (hasDirective(prompt, "risk-later")) {
    task.status = "failed";
    task.error = errorBody(
      "OutputImageRiskDetection",
      "The request could not be processed because the output image includes sensitive content.",
    );
  } else if (hasDirective(prompt, "fails")) {
    task.status = "failed";
    task.error = errorBody("InternalServiceError", "The service encountered an unexpected internal error.");
  } else {
    task.status = "succeeded";
    if (hasDirective(prompt, "empty")) return;
    task.content = {
      video_url: files + publish(upstream, prompt, "video"),
      ...(request.return_last_frame === true && { last_frame_url: files + publish(upstream, prompt, "image") }),
    };
  }
}

/** A task as GET returns it: optional fields are null or absent, numbers are numbers. */
const view = ({ id, request, createdAt, status, content, error }: Task) => ({
  id,
  model: request.model,
  status,
  error: error ?? null,
  ...(content && { content, usage: { completion_tokens: 108_900, total_tokens: 108_900 } }),
  created_at: createdAt,
  updated_at: seconds(),
  seed: 58_920,
  resolution: request.resolution,
  ratio: request.ratio ?? "adaptive",
  duration: request.duration,
  framespersecond: 24,
  service_tier: "default",
  execution_expires_after: 172_800,
});

const readFiles = (headers: Headers) => headers.get(filesHeader) ?? "";

const api = new Hono()
  .use("*", async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${providerKeys.ARK_API_KEY}`) return unauthorized();
    if (c.req.method === "POST" && !c.req.header("content-type")?.startsWith("application/json")) return invalidParameter("content-type");
    return next();
  })
  .post("/images/generations", async (c) => {
    const body = await c.req.json<ImageRequest>();
    const { prompt = "" } = body as Partial<ImageRequest>;
    record({ upstream, call: "start", prompt, body });
    const refusal = orderedRefusal(prompt, body.model) ?? imageRefusal(body);
    if (refusal) return refusal;
    if (hasDirective(prompt, "drop")) throw new Dropped();
    if (hasDirective(prompt, "garbled")) return c.text("<html>");
    const answer = { model: body.model, created: seconds(), usage: { generated_images: 1, output_tokens: 4096, total_tokens: 4096 } };
    if (hasDirective(prompt, "risk-later")) return refuse(400, "OutputImageRiskDetection", "The output image includes sensitive content.");
    const fails = hasDirective(prompt, "moderated-later")
      ? errorBody("OutputImageSensitiveContentDetected", "The request failed because the output image may contain sensitive information.")
      : (hasDirective(prompt, "fails") || (prompt.includes("[only ") && !hasDirective(prompt, "only"))) &&
        errorBody("InternalServiceError", "The service encountered an unexpected internal error.");
    if (fails) return c.json({ ...answer, data: [{ error: { code: fails.code, message: fails.message } }] });
    return c.json({ ...answer, data: [{ url: readFiles(c.req.raw.headers) + publish(upstream, prompt, "image"), size: body.size }] });
  })
  .post("/contents/generations/tasks", async (c) => {
    const { callback_url: url, ...request } = await c.req.json<VideoRequest & { callback_url?: string }>();
    const prompt = readText(request);
    record({ upstream, call: "start", prompt, body: request });
    const refusal = orderedRefusal(prompt, request.model) ?? videoRefusal(request);
    if (refusal) return refusal;
    const id = `cgt-20261120120000-${crypto.randomUUID().slice(0, 5)}`;
    const task: Task = { id, request, prompt, createdAt: seconds(), status: "queued" };
    tasks.set(id, task);
    if (url !== undefined)
      expectCalls(prompt, url, "plain", () => ["queued", "running", "succeeded"].map((status) => ({ ...view(task), status })));
    if (hasDirective(prompt, "drop")) throw new Dropped();
    if (hasDirective(prompt, "garbled")) return c.text("<html>");
    return c.json({ id });
  })
  .get("/contents/generations/tasks", (c) => {
    const { page_num: page = "1", page_size: size = "10", "filter.status": status, "filter.model": model } = c.req.query();
    const ids = c.req.queries("filter.task_ids");
    const items = [...tasks.values()]
      .filter((task) => (status === undefined || task.status === status) && (model === undefined || task.request.model === model))
      .filter(({ id }) => ids === undefined || ids.includes(id));
    return c.json({ items: items.slice((Number(page) - 1) * Number(size), Number(page) * Number(size)).map(view), total: items.length });
  })
  .get("/contents/generations/tasks/:id", (c) => {
    const task = tasks.get(c.req.param("id"));
    if (!task) return noTask(c.req.param("id"));
    const { prompt } = task;
    record({ upstream, call: "poll", prompt });
    if (hasDirective(prompt, "forgotten")) return noTask(task.id);
    if (hasDirective(prompt, "locked")) return unauthorized();
    advance(task, readFiles(c.req.raw.headers));
    return c.json(view(task));
  })
  .delete("/contents/generations/tasks/:id", (c) => {
    const task = tasks.get(c.req.param("id"));
    if (!task) return noTask(c.req.param("id"));
    record({ upstream, call: "cancel", prompt: task.prompt });
    advance(task, readFiles(c.req.raw.headers));
    if (task.status === "running" || task.status === "cancelled")
      return refuse(
        409,
        "InvalidAction.RunningTaskDeletion",
        `Cannot delete task \`${task.id}\` because it is currently ${task.status}.`,
        "",
        "Conflict",
      );
    if (task.status === "queued") task.status = "cancelled";
    else tasks.delete(task.id);
    return c.json({});
  })
  .onError((error) => {
    throw error;
  });

export const modelark = new Hono().route("/api/v3", api);
