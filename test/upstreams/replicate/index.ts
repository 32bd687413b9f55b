/** Replicate, emulated: predictions that are created, listed, polled and cancelled (replicate.com/docs/reference/http). */

import { type Context, Hono } from "hono";
import { expectCalls } from "../calls.ts";
import { Dropped, hasDirective, record, setEnd } from "../emulator.ts";
import { publish } from "../files.ts";
import { providerKeys, replicateSecret } from "../keys.ts";
import { type Input, readProblems, type ReplicateModel, replicateModels } from "./models.ts";

interface Prediction {
  id: string;
  model: string;
  version: "hidden";
  status: string;
  input: Input;
  output: unknown;
  error: string | null;
  logs: string;
  metrics: object;
  data_removed: boolean;
  source: "api";
  webhook?: string;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  urls: { get: string; cancel: string; stream: string; web: string };
}

const predictions: Prediction[] = [];
/** The real one has 100 per page. */
const pageSize = 20;

const problem = (c: Context, status: 401 | 402 | 404 | 422 | 429 | 500 | 503, title: string, detail: string, more: object = {}) =>
  c.json({ title, detail, status, ...more }, status);
const notFound = (c: Context) => problem(c, 404, "Not found", "The requested resource could not be found.");
const throttled = (c: Context, seconds: number) =>
  c.json({ detail: `Request was throttled. Your rate limit resets in ~${seconds}s.`, status: 429 }, 429);

/**
 * Its directives beside the common ones: `[created 2030-01-01T00:00:00Z]` (its clock, for tests that hold their time), `[unreached]` (the connection
 * breaks before anything is accepted), `[no-id]`, `[limit-long]`, `[poll-denied]`, `[poll-limit]`, `[poll-broken]`, `[list-broken]`, `[list-limit]`, `[list-bare]` (without webhooks),
 * `[odd]` (an undocumented status), `[canceled]`, `[aborted]`, `[removed]` (404 after its data was removed), `[emptied]` (the output was removed).
 */
export const replicate = new Hono()
  .use("/v1/*", async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${providerKeys.REPLICATE_API_TOKEN}`)
      return problem(c, 401, "Unauthenticated", "You did not pass a valid authentication token");
    return next();
  })
  .get("/v1/models/:owner/:name", (c) => {
    const [owner, name] = [c.req.param("owner"), c.req.param("name")];
    const schemas = { Input: { type: "object", title: "Input", properties: { prompt: { type: "string", title: "Prompt" } } } };
    const latest = { id: "hidden", openapi_schema: { openapi: "3.0.2", components: { schemas } } };
    return replicateModels[`${owner}/${name}`] ? c.json({ owner, name, visibility: "public", latest_version: latest }) : notFound(c);
  })
  .post("/v1/models/:owner/:name/predictions", async (c) => {
    const {
      webhook,
      webhook_events_filter: events = ["start", "output", "logs", "completed"],
      ...body
    } = (await c.req.json().catch(() => ({}))) as { input?: Input; webhook?: string; webhook_events_filter?: string[] };
    const { input } = body;
    const prompt = readPrompt(input);
    const name = `${c.req.param("owner")}/${c.req.param("name")}`;
    record({ upstream: "replicate", call: "start", prompt, body: { model: name, ...body } });
    const model = replicateModels[name];
    if (!model || hasDirective(prompt, "retired")) return notFound(c);
    if (hasDirective(prompt, "unreached")) throw new Dropped();
    if (hasDirective(prompt, "wallet"))
      return problem(c, 402, "Insufficient credit", "You have insufficient credit to run this model. Go to billing to purchase credit.");
    if (hasDirective(prompt, "limit")) return throttled(c, 1);
    if (hasDirective(prompt, "limit-long")) return throttled(c, 30);
    if (hasDirective(prompt, "broken")) return problem(c, 500, "Internal server error", "");
    if (hasDirective(prompt, "unavailable")) return problem(c, 503, "Service unavailable", "");
    const problems = readProblems(model, body);
    if (problems.length > 0)
      return problem(c, 422, "Input validation failed", problems.map((line) => `- ${line}\n`).join(""), { invalid_fields: problems });
    const prediction = { ...newPrediction(name, input!, new URL(c.req.url).origin), ...(webhook !== undefined && { webhook }) };
    predictions.unshift(prediction);
    setEnd(prediction.id, { upstream: "replicate", prompt, end: "made" });
    if (webhook !== undefined) {
      const ended = () => ({ ...prediction, status: "succeeded", output: "https://files.emulated.example/announced.mp4" });
      const bodies = { start: () => prediction, output: ended, logs: () => prediction, completed: ended } as Record<string, () => object>;
      expectCalls(prompt, webhook, "replicate", () => events.map((event) => bodies[event]?.() ?? {}));
    }
    if (hasDirective(prompt, "drop")) throw new Dropped();
    if (hasDirective(prompt, "no-id")) return c.json({}, 201);
    return c.json(prediction, 201);
  })
  .get("/v1/webhooks/default/secret", (c) => {
    record({ upstream: "replicate", call: "secret", prompt: "" });
    return c.json({ key: replicateSecret });
  })
  .get("/v1/predictions", (c) => {
    const from = Number(atob(c.req.query("cursor") ?? btoa("0")));
    // Newest first, by the real clock or the prompt's.
    const results = predictions.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at)).slice(from, from + pageSize);
    const prompts = results.map(({ input }) => readPrompt(input));
    record({ upstream: "replicate", call: "list", prompt: prompts.join("\n") });
    if (prompts.some((prompt) => hasDirective(prompt, "list-broken"))) return problem(c, 500, "Internal server error", "");
    if (prompts.some((prompt) => hasDirective(prompt, "list-limit"))) return throttled(c, 1);
    const cursor = from + pageSize < predictions.length ? btoa(String(from + pageSize)) : undefined;
    // A client that follows this link sends its token to another host.
    const next = cursor === undefined ? null : `https://stolen.example/v1/predictions?cursor=${encodeURIComponent(cursor)}`;
    const shown = results.map(({ webhook, ...rest }) =>
      webhook === undefined || hasDirective(readPrompt(rest.input), "list-bare") ? rest : { ...rest, webhook },
    );
    return c.json({ previous: null, next, results: shown });
  })
  .get("/v1/predictions/:id", (c) => {
    const prediction = predictions.find(({ id }) => id === c.req.param("id"));
    if (!prediction) return notFound(c);
    const prompt = readPrompt(prediction.input);
    record({ upstream: "replicate", call: "poll", prompt });
    if (hasDirective(prompt, "poll-denied")) return problem(c, 401, "Unauthenticated", "You did not pass a valid authentication token");
    if (hasDirective(prompt, "poll-limit")) return throttled(c, 1);
    if (hasDirective(prompt, "poll-broken")) return problem(c, 500, "Internal server error", "");
    if (hasDirective(prompt, "removed")) return notFound(c);
    if (prediction.status === "starting" || prediction.status === "processing")
      advance(prediction, replicateModels[prediction.model], c.req.header("x-emulator-files") ?? "");
    return c.json(hasDirective(prompt, "odd") ? { ...prediction, status: "waiting_for_the_moon", output: null } : prediction);
  })
  .post("/v1/predictions/:id/cancel", (c) => {
    const prediction = predictions.find(({ id }) => id === c.req.param("id"));
    if (!prediction) return notFound(c);
    record({ upstream: "replicate", call: "cancel", prompt: readPrompt(prediction.input) });
    if (prediction.completed_at === null) end(prediction, { status: "canceled" });
    return c.json(prediction);
  });

const readPrompt = ({ prompt, text }: Input = {}): string => [prompt, text].find((one) => typeof one === "string") ?? "";

function newPrediction(model: string, input: Input, origin: string): Prediction {
  const id = crypto.randomUUID().replaceAll("-", "").slice(0, 26);
  const at = /\[created ([^\]]+)\]/.exec(readPrompt(input))?.[1];
  const url = `${origin}/v1/predictions/${id}`;
  return {
    id,
    model,
    version: "hidden",
    status: "starting",
    input,
    output: null,
    error: null,
    logs: "",
    metrics: {},
    data_removed: false,
    source: "api",
    created_at: at ?? new Date().toISOString(),
    started_at: null,
    completed_at: null,
    urls: { get: url, cancel: `${url}/cancel`, stream: `${url}/stream`, web: `https://replicate.com/p/${id}` },
  };
}

function end(prediction: Prediction, outcome: Partial<Prediction>): Prediction {
  // What was stopped before it began has no time of a machine.
  const isUntouched = /^(?:canceled|aborted)$/.test(outcome.status ?? "") && prediction.started_at === null;
  const metrics = isUntouched ? { total_time: 2 } : { predict_time: 1.5, total_time: 2 };
  Object.assign(prediction, { completed_at: new Date().toISOString(), metrics, ...outcome });
  const { id, input, status } = prediction;
  setEnd(id, {
    upstream: "replicate",
    prompt: readPrompt(input),
    end: status === "succeeded" ? "made" : status === "failed" ? "failed" : "cancelled",
    ...(metrics.predict_time !== undefined && { seconds: metrics.predict_time }),
  });
  return prediction;
}

/** The next state of a prediction: one poll further. */
function advance(prediction: Prediction, model: ReplicateModel | undefined, files: string): void {
  const prompt = readPrompt(prediction.input);
  if (hasDirective(prompt, "queued")) return;
  if (hasDirective(prompt, "running"))
    return void Object.assign(prediction, { status: "processing", started_at: new Date().toISOString() });
  if (hasDirective(prompt, "moderated-later") || hasDirective(prompt, "moderated")) {
    const error = `The input or output was flagged as sensitive. Please try again with different inputs. (E005) (${prediction.id})`;
    return void end(prediction, { status: "failed", error });
  }
  if (hasDirective(prompt, "fails")) return void end(prediction, { status: "failed", error: "CUDA out of memory (E1001)" });
  if (hasDirective(prompt, "canceled")) return void end(prediction, { status: "canceled" });
  if (hasDirective(prompt, "aborted")) return void end(prediction, { status: "aborted" });
  if (hasDirective(prompt, "emptied"))
    return void end(prediction, { status: "succeeded", data_removed: true, input: {}, output: null, logs: "" });
  const urls = Array.from(
    { length: Number(prediction.input["number_of_images"] ?? 1) },
    () => files + publish("replicate", prompt, model!.makes),
  );
  end(prediction, { status: "succeeded", output: model!.output === "array" ? urls : urls[0] });
}
