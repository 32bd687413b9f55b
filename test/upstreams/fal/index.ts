/** The fal queue, emulated: submissions are accepted unchecked, and the result reports their faults. */

import { type Context, Hono } from "hono";
import { expectCalls } from "../calls.ts";
import { Dropped, hasDirective, record, setEnd } from "../emulator.ts";
import { isEndpoint, type Violation, readViolations } from "./inputs.ts";
import { publish } from "../files.ts";
import { falKeys, providerKeys } from "../keys.ts";

/**
 * Its directives beside the common ones: `foreign` (URLs on another host), `redirected`, `limit-status`, `bare` (an answer without URLs), `string-detail`, `timeout`, `retryable`,
 * `bad-image`, `too-long` and `too-many` (the prompt), `downstream` (a partner's service), `no-media`, `misfit` (a field that no caller gave), `hiccup` (500 that is no verdict), `garbled` (a page), `unknown` (the request is forgotten), `odd` (an undocumented status), `empty` (no output), `unstoppable` (it is not cancelled), `flagged` and `half-flagged` (all images, or every second one, are black unless the checker is off), `echo` (the answer repeats the input's images).
 */
interface Request {
  app: string;
  endpoint: string;
  prompt: string;
  input: { num_images?: number; image_urls?: string[]; enable_safety_checker?: boolean };
  violations: Violation[];
  isCancelled: boolean;
  /** As the last status said. */
  state: "queued" | "running" | "ended";
  /** Set once the request is done, so that two polls return the same files. */
  result?: object;
}

const requests = new Map<string, Request>();
const text = (c: Context, status: 400 | 401 | 403 | 404 | 429 | 500 | 503 | 504, detail: string, headers: Record<string, string> = {}) =>
  c.json({ detail }, status, headers);
const modelError = (c: Context, status: 400 | 422 | 500, detail: Violation[], retryable = false, header = "x-fal-retryable") =>
  c.json({ detail: detail.map((one) => ({ ...one, url: `https://docs.fal.ai/errors#${one.type}`, ctx: {} })) }, status, {
    [header]: String(retryable),
  });
const requestError = (c: Context, status: 503 | 504, type: string) =>
  c.json({ detail: "Request could not be processed", error_type: type }, status, { "x-fal-error-type": type });
const moderated: Violation = { loc: ["body", "prompt"], msg: "The content was flagged", type: "content_policy_violation" };

/** Two keys, as after a rotation: the second one signs. */
const publicKeys = ["a2V5IG9mIGFub3RoZXIgeWVhciwgMzIgYnl0ZXMgbG8", falKeys.publicKey.export({ format: "jwk" }).x!].map((x, at) => ({
  kty: "OKP",
  crv: "Ed25519",
  x,
  kid: `key-${at}`,
}));

export const fal = new Hono()
  .get("/.well-known/jwks.json", (c) => {
    record({ upstream: "fal", call: "keys", prompt: c.req.header("authorization") ?? "" });
    return c.json({ keys: publicKeys });
  })
  .use(async (c, next) => {
    if (c.req.header("authorization") === `Key ${providerKeys.FAL_KEY}`) return next();
    record({ upstream: "fal", call: "stranger", prompt: c.req.url });
    return text(c, 401, "Cannot access application. Authentication is required to access this application.");
  })
  // The platform's list of endpoints. `[deprecated]` in the id, which no real one has.
  .get("/v1/models", (c) => {
    const id = c.req.query("endpoint_id") ?? "";
    record({ upstream: "fal", call: "model", prompt: id });
    const status = id.includes("[deprecated]") ? "deprecated" : "active";
    const models = isEndpoint(id) || status === "deprecated" ? [{ endpoint_id: id, metadata: { status, category: "text-to-image" } }] : [];
    return c.json({ models, next_cursor: null, has_more: false });
  })
  .get("/:owner/:app/requests/:id/status", (c) => {
    const { id, request } = found(c);
    if (!request) return text(c, 404, "Request not found");
    const { prompt } = request;
    record({ upstream: "fal", call: "poll", prompt });
    if (hasDirective(prompt, "unknown")) return text(c, 404, "Request not found");
    if (hasDirective(prompt, "limit-status")) return text(c, 429, "Too many requests", { "retry-after": "1" });
    const urls = readUrls(c, request.app, id);
    if (request.isCancelled) return c.json({ status: "COMPLETED", request_id: id, ...urls });
    request.state = hasDirective(prompt, "queued") ? "queued" : hasDirective(prompt, "running") ? "running" : "ended";
    if (request.state === "queued") return c.json({ status: "IN_QUEUE", request_id: id, queue_position: 1, ...urls }, 202);
    if (request.state === "running") return c.json({ status: "IN_PROGRESS", request_id: id, logs: null, ...urls }, 202);
    if (hasDirective(prompt, "odd")) return c.json({ status: "RESCHEDULED", request_id: id, ...urls }, 202);
    return c.json({ status: "COMPLETED", request_id: id, logs: [], metrics: { inference_time: 3.2 }, ...urls });
  })
  .put("/:owner/:app/requests/:id/cancel", (c) => {
    const { request } = found(c);
    if (!request) return c.json({ status: "NOT_FOUND" }, 404);
    record({ upstream: "fal", call: "cancel", prompt: request.prompt });
    if (request.state === "ended" || hasDirective(request.prompt, "unstoppable")) return c.json({ status: "ALREADY_COMPLETED" }, 400);
    // A signal to the model, which decides: this one goes on.
    if (request.state === "running") return c.json({ status: "CANCELLATION_REQUESTED" }, 202);
    request.isCancelled = true;
    setEnd(c.req.param("id"), { upstream: "fal", prompt: request.prompt, end: "cancelled" });
    return c.json({ status: "OK" });
  })
  .get("/:owner/:app/requests/:id", (c) => {
    const { request } = found(c);
    if (!request) return text(c, 404, "Request not found");
    const { prompt, violations, input, endpoint } = request;
    record({ upstream: "fal", call: "result", prompt });
    if (request.isCancelled) return text(c, 400, "Request was cancelled");
    if (hasDirective(prompt, "hiccup")) return c.text("upstream connect error", 500);
    if (hasDirective(prompt, "garbled")) return c.html("<p>One moment</p>");
    const endsAs = (end: "made" | "failed") => setEnd(c.req.param("id"), { upstream: "fal", prompt, end });
    endsAs("failed");
    if (violations.length > 0) return modelError(c, 422, violations);
    if (hasDirective(prompt, "moderated-later")) return modelError(c, 422, [moderated]);
    const image = { loc: ["body", "image_url"], msg: "Failed to download the file", type: "file_download_error" };
    if (hasDirective(prompt, "bad-image")) return modelError(c, 422, [image]);
    if (hasDirective(prompt, "retryable")) return modelError(c, 422, [image], true);
    // The header's name in newer documentation.
    if (hasDirective(prompt, "needs-retry")) return modelError(c, 422, [image], true, "x-fal-needs-retry");
    const long: Violation = { loc: ["body", "prompt"], msg: "String should have at most 500 characters", type: "string_too_long" };
    if (hasDirective(prompt, "too-long")) return modelError(c, 422, [long]);
    if (hasDirective(prompt, "too-many")) return modelError(c, 422, [{ ...long, type: "sequence_too_long" }]);
    if (hasDirective(prompt, "downstream"))
      return modelError(c, 400, [{ loc: ["body"], msg: "Downstream service error", type: "downstream_service_error" }]);
    if (hasDirective(prompt, "no-media"))
      return modelError(c, 422, [{ loc: ["body", "prompt"], msg: "The model did not generate media", type: "no_media_generated" }]);
    const misfit = { loc: ["body", "image_size"], msg: "Input should be 'square'", type: "literal_error" };
    if (hasDirective(prompt, "misfit")) return modelError(c, 422, [misfit]);
    if (hasDirective(prompt, "string-detail")) return c.json({ detail: "The input could not be processed" }, 422);
    if (hasDirective(prompt, "timeout")) return requestError(c, 504, "request_timeout");
    if (hasDirective(prompt, "fails"))
      return modelError(c, 500, [{ loc: ["body"], msg: "Internal server error", type: "internal_server_error" }]);
    endsAs("made");
    if (hasDirective(prompt, "empty")) return c.json({ images: [], seed: 1 });
    if (hasDirective(prompt, "private-file")) return c.json({ audio: { url: "http://169.254.169.254/latest/meta-data" } });
    if (hasDirective(prompt, "no-files")) return c.json({ images: [], transcript: "a quiet sea", words: [{ at: 0.5, word: "a" }] });
    request.result ??= readResult(c, endpoint, prompt, input.num_images ?? 1);
    if (/\[(?:half-)?flagged\]/.test(prompt))
      request.result = {
        ...request.result,
        has_nsfw_concepts: Array.from({ length: input.num_images ?? 1 }, (_, at) => at % 2 === 0 || hasDirective(prompt, "flagged")),
      };
    if (hasDirective(prompt, "echo")) request.result = { ...request.result, given: (input.image_urls ?? []).map((url) => ({ url })) };
    record({ upstream: "fal", call: "made", prompt, body: request.result });
    return c.json(request.result, 200, { "x-fal-request-id": c.req.param("id") });
  })
  .post("/*", async (c) => {
    const endpoint = c.req.path.split("/").slice(2).join("/");
    const input = await c.req
      .json<{
        prompt?: string;
        text?: string;
        input_image_url?: string;
        num_images?: number;
        image_urls?: string[];
        enable_safety_checker?: boolean;
      }>()
      .catch(() => undefined);
    if (!input || c.req.header("content-type")?.startsWith("application/json") !== true) return text(c, 400, "Invalid JSON");
    const prompt = String(input.prompt ?? input.text ?? input.input_image_url);
    const lifecycle = JSON.parse(c.req.header("x-fal-object-lifecycle-preference") ?? "null") as unknown;
    record({ upstream: "fal", call: "start", prompt, body: { endpoint, input, lifecycle } });
    const app = endpoint.split("/").slice(0, 2).join("/");
    if (!isEndpoint(endpoint) || hasDirective(prompt, "retired")) return text(c, 404, `Application '${app}' not found`);
    if (hasDirective(prompt, "limit")) return text(c, 429, "Concurrent requests limit reached", { "retry-after": "1" });
    if (hasDirective(prompt, "wallet")) return text(c, 403, "User is locked. Reason: Exhausted balance.");
    if (hasDirective(prompt, "broken")) return text(c, 500, "Internal Server Error");
    if (hasDirective(prompt, "unavailable")) return requestError(c, 503, "runner_scheduling_failure");
    const id = crypto.randomUUID();
    if (hasDirective(prompt, "moderated")) {
      setEnd(id, { upstream: "fal", prompt, end: "failed" });
      return modelError(c, 422, [moderated]);
    }
    setEnd(id, { upstream: "fal", prompt, end: "made" });
    requests.set(id, { app, endpoint, prompt, input, violations: readViolations(endpoint, input), isCancelled: false, state: "queued" });
    const { fal_webhook: url } = c.req.query();
    if (url !== undefined) {
      const made = { status: "OK", payload: { video: { url: "https://files.emulated.example/announced.mp4" } } };
      const failed = { status: "ERROR", error: "Invalid status code: 422", payload: { detail: [moderated] } };
      const outcome = prompt.includes("[moderated-later") ? failed : made;
      expectCalls(prompt, url, "fal", () => [{ request_id: id, gateway_request_id: id, ...outcome }]);
    }
    if (hasDirective(prompt, "drop")) throw new Dropped();
    if (hasDirective(prompt, "redirected")) return c.redirect("https://foreign.emulated.example/", 307);
    if (hasDirective(prompt, "bare")) return c.json({ request_id: id, status: "IN_QUEUE", queue_position: null });
    const urls = readUrls(c, app, id, hasDirective(prompt, "foreign") ? "https://foreign.emulated.example" : undefined);
    return c.json({ status: "IN_QUEUE", request_id: id, queue_position: 0, ...urls });
  });

/** Finds a request by its id, and only below its own owner and app. */
function found(c: Context): { id: string; request: Request | undefined } {
  const id = c.req.param("id")!;
  const request = requests.get(id);
  return { id, request: request?.app === `${c.req.param("owner")}/${c.req.param("app")}` ? request : undefined };
}

function readUrls(c: Context, app: string, id: string, origin = readOrigin(c)) {
  const request = `${origin}/${app}/requests/${id}`;
  return { response_url: request, status_url: `${request}/status`, cancel_url: `${request}/cancel` };
}

function readOrigin(c: Context): string {
  const host = c.req.header("x-emulator-host");
  return host === undefined ? `${new URL(c.req.url).origin}/fal` : `https://${host}`;
}

function readResult(c: Context, endpoint: string, prompt: string, count: number): object {
  const file = (kind: "image" | "video" | "audio" | "mesh") => ({
    url: `${c.req.header("x-emulator-files")}${publish("fal", prompt, kind)}`,
    file_size: null,
  });
  if (endpoint.includes("/tts/"))
    return { audio: { ...file("audio"), content_type: "audio/mpeg", file_name: "speech.mp3" }, timestamps: null };
  if (endpoint.includes("3d"))
    return { model_mesh: { ...file("mesh"), file_name: "white.glb" }, preview: { ...file("image"), content_type: "image/png" }, seed: 7 };
  if (/video|veo/.test(endpoint)) return { video: { ...file("video"), content_type: "video/mp4" }, seed: 42 };
  return { images: Array.from({ length: count }, () => ({ ...file("image"), content_type: "image/png", width: null })), seed: 42 };
}
