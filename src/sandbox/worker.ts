/**
 * The sandbox Worker: a built-in upstream that draws images and loops video clips. Reached only by a service binding.
 *
 *   POST   /v1/operations {key, kind, model, prompt, ...}                   202 {id, status, poll_after_ms}; the same key gives the same operation
 *   POST   /v1/characters?key=&model=&start=&end=  (the video as the body)   202, likewise
 *   GET    /v1/operations/{id}          {id, status, progress, poll_after_ms?, error?, outputs?, character?}
 *   DELETE /v1/operations/{id}          {id, status}: "cancelled", or the status with which it had already ended; nothing of it remains
 *   GET    /v1/operations/{id}/outputs/{n}[/thumbnail]                      the bytes; 409 before success
 *   POST   /v1/chat/completions         OpenAI's, whole or streamed
 *
 * Errors are `{error: {message, type, param, code}}`; 503 carries Retry-After. The bodies' fields: `orders.ts`, `chat-order.ts`.
 */

import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compose, toCompletion } from "./chat.ts";
import { lastMessage, parseChat } from "./chat-order.ts";
import { streamAnswer } from "./chat-stream.ts";
import { directivesIn } from "./directives.ts";
import { Fault } from "./fault.ts";
import { OperationObject, type SandboxEnv } from "./operation-object.ts";
import { newRecord, pollAfterMs, statusAt, toView, type OperationRecord } from "./operations.ts";
import { parseCharacter, parseGeneration } from "./orders.ts";
import { makeOutput, makeThumbnail, type File } from "./outputs.ts";
import { judgeVideo } from "./source-video.ts";

export { OperationObject };

const CHAT_PAUSE_MS = 5000;
const FLAKY_CHAT_FAULTS = 2;

const app = new Hono<{ Bindings: SandboxEnv }>();
const limited = (bytes: number) =>
  bodyLimit({ maxSize: bytes, onError: () => new Fault("too_large", "the body is too large").toResponse() });

app.onError((error) => {
  if (error instanceof Fault) return error.toResponse();
  console.error(JSON.stringify({ provider: "sandbox", error: error.stack ?? String(error) }));
  return new Fault("provider_error", "the sandbox failed").toResponse();
});
app.notFound(() => new Fault("not_found", "no such path").toResponse());

app.post("/v1/operations", limited(1024 * 1024), async (c) => {
  const order = parseGeneration(await readJson(c.req.raw));
  if (directivesIn(order.prompt).has("reject")) throw new Fault("content_policy_violation", "the prompt is against the sandbox's rules");
  const { id, object } = objectForKey(c.env, order.key);
  return accepted(id, await object.create(newRecord(order, Date.now())));
});

app.post("/v1/characters", async (c) => {
  const order = parseCharacter(c.req.query());
  const { id, object } = objectForKey(c.env, order.key);
  const body = c.req.raw.body;
  const known = await object.record();
  if (known) {
    await body?.cancel();
    return accepted(id, known);
  }
  if (!body) throw new Fault("invalid_request", "the body is to be the video");
  const failure = await judgeVideo(body, order);
  return accepted(id, await object.create(newRecord(order, Date.now(), failure)));
});

app.get("/v1/operations/:id", async (c) => {
  const id = c.req.param("id");
  const record = await findObject(c.env, id).status();
  if (record === "fault") throw temporary();
  return c.json(toView(id, existing(record), Date.now()));
});

app.delete("/v1/operations/:id", async (c) => {
  const id = c.req.param("id");
  const status = statusAt(existing(await findObject(c.env, id).erase()), Date.now());
  return c.json({ id, status: status === "succeeded" || status === "failed" ? status : "cancelled" });
});

app.get("/v1/operations/:id/outputs/:index{[0-9]+}", async (c) => {
  const { id, index } = c.req.param();
  return answer(await makeOutput(id, await finished(c.env, id), Number(index)));
});

app.get("/v1/operations/:id/outputs/:index{[0-9]+}/thumbnail", async (c) => {
  const { id, index } = c.req.param();
  return answer(await makeThumbnail(await finished(c.env, id), Number(index)));
});

app.post("/v1/chat/completions", limited(12 * 1024 * 1024), async (c) => {
  const order = parseChat(await readJson(c.req.raw));
  const directives = directivesIn(lastMessage(order));
  if (directives.has("reject") || directives.has("flag"))
    throw new Fault("content_policy_violation", "the message is against the sandbox's rules");
  const breaks = directives.has("break");
  if (directives.has("fail") || (breaks && !order.stream)) throw new Fault("provider_error", "the sandbox failed, as it was told to");
  if (directives.has("flaky") && (await refuses(c.env, JSON.stringify(order)))) throw temporary();
  if (directives.has("slow")) await scheduler.wait(CHAT_PAUSE_MS);
  // The runtime ends this request when the caller disconnects.
  while (directives.has("hang")) await scheduler.wait(60_000);
  const made = compose(order, Date.now());
  if (!order.stream) return c.json(toCompletion(made, order));
  const headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };
  return new Response(streamAnswer(made, order, breaks), { headers });
});

export default app;

/** The operation of an idempotency key. Its id contains the object's id, which is derived from the key and signed by the platform. */
function objectForKey(env: SandboxEnv, key: string) {
  const objectId = env.OPERATIONS.idFromName(`operation:${key}`);
  return { id: `op_${objectId.toString()}`, object: env.OPERATIONS.get(objectId) };
}

/** The operation of an id. Throws "not_found" for an id that was never issued, without starting an object. */
function findObject(env: SandboxEnv, id: string) {
  if (!id.startsWith("op_")) throw unknown();
  let objectId: DurableObjectId;
  try {
    objectId = env.OPERATIONS.idFromString(id.slice(3));
  } catch {
    throw unknown();
  }
  return env.OPERATIONS.get(objectId);
}

async function finished(env: SandboxEnv, id: string): Promise<OperationRecord> {
  const record = existing(await findObject(env, id).record());
  if (statusAt(record, Date.now()) !== "succeeded") throw new Fault("not_ready", "the operation has no outputs");
  return record;
}

function existing(record: OperationRecord | undefined): OperationRecord {
  if (!record) throw unknown();
  return record;
}

function accepted(id: string, record: OperationRecord | "fault"): Response {
  if (record === "fault") throw temporary();
  const now = Date.now();
  return Response.json({ id, status: statusAt(record, now), poll_after_ms: pollAfterMs(record, now) }, { status: 202 });
}

function answer(file: File | undefined): Response {
  if (!file) throw new Fault("not_found", "no such output");
  return new Response(file.bytes, { headers: { "content-type": file.type, "content-length": String(file.bytes.byteLength) } });
}

async function readJson(request: Request): Promise<unknown> {
  return request.json().catch(() => {
    throw new Fault("invalid_request", "the body is not JSON");
  });
}

/** A flaky chat has no key: faults are counted per order. */
async function refuses(env: SandboxEnv, words: string): Promise<boolean> {
  return env.OPERATIONS.getByName(`chat:${await sha256(words)}`).refuseTimes(FLAKY_CHAT_FAULTS);
}

async function sha256(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
}

function unknown(): Fault {
  return new Fault("not_found", "no such operation");
}

function temporary(): Fault {
  return new Fault("temporarily_unavailable", "try again");
}
