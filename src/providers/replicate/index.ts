/** Replicate's predictions: created by model name, polled, cancelled; several pictures are several predictions. */

import { ask, toFault, readJson, laterFault, outputAt, toOutput, several } from "../shared/http.ts";
import { toInput, unable } from "./inputs.ts";
import { leftBy, type Prediction } from "./lookup.ts";
import {
  type Accepted,
  type Failed,
  type Job,
  type Output,
  type Pending,
  type Provider,
  ProviderError,
  type Succeeded,
} from "../provider.ts";

/** The limit of the official client for pictures within a request (replicate 1.4.0, `MAX_DATA_URI_SIZE`). */
const mostInlineBytes = 10_000_000;
/** Seedance says "flagged as sensitive (E005)", others name their content policy or NSFW; there is no code (replicate.com/docs). */
const contentPolicy = /flagged|sensitive|\bE005\b|nsfw|content policy/i;

export function replicate({ token, base = "https://api.replicate.com/v1" }: { token: string; base?: string | undefined }): Provider {
  const authorization = `Bearer ${token}`;
  const call = (path: string, { headers, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {}) =>
    ask(globalThis, base + path, { ...init, headers: { ...headers, authorization } });
  const predictionPath = (id: string) => `/predictions/${encodeURIComponent(id)}`;

  /** Throws a fault that may pass when the answer has no id: it may have been accepted. */
  async function create(model: string, body: string, signal: AbortSignal): Promise<string> {
    const headers = { "content-type": "application/json" };
    const response = await call(`/models/${model}/predictions`, { method: "POST", headers, body, signal });
    if (!response.ok) throw await parseRefusal(response, "start");
    const id = (await readJson<Prediction>(response))?.id;
    if (!id) throw new ProviderError("start: no id", { retryable: true });
    return id;
  }

  async function listed(cursor: string | undefined, signal: AbortSignal) {
    const response = await call(cursor === undefined ? "/predictions" : `/predictions?cursor=${encodeURIComponent(cursor)}`, { signal });
    const page = response.ok ? await readJson<{ results?: Prediction[]; next?: string | null }>(response) : undefined;
    if (page?.results) return page;
    const { retryable, account, retryAfterMs } = await parseRefusal(response, "list");
    // Whatever is the matter with the list: what was asked before may have been accepted.
    throw new ProviderError(`list: ${response.status}`, { retryable: retryable || response.ok, account, retryAfterMs });
  }

  return {
    name: "replicate",
    repeatable: true,
    reportsProgress: false,
    startTimeoutMs: (kind) => (kind === "image" ? 45_000 : 60_000),
    unsupportedField: unable,

    async start(job, signal): Promise<Accepted | Failed> {
      const { model, n, askedAt } = job;
      const input = toInput(job, await imageAddresses(job));
      const accepted = (ids: string[]): Accepted => ({ status: "accepted", operation: JSON.stringify(ids), pollAfterMs: 3_000 });
      const left = askedAt !== undefined && (await leftBy({ model, input, n, askedAt }, (cursor) => listed(cursor, signal)));
      if (left) return accepted(left);
      const body = JSON.stringify({ input });
      const made = await several(n, () => create(model, body, signal));
      return Array.isArray(made) ? accepted(made) : made;
    },

    /** One request while it works: the predictions after one that is not done need not be asked yet. */
    async poll(operation): Promise<Pending | Succeeded | Failed> {
      const outputs: Output[] = [];
      let failure: Failed = { status: "failed", code: "provider_error" };
      for (const id of JSON.parse(operation) as string[]) {
        const response = await call(predictionPath(id));
        const isGone = [400, 404, 410].includes(response.status);
        if (!response.ok && !isGone) {
          // What was accepted stays accepted, whatever is wrong with us now.
          throw laterFault(await parseRefusal(response, "poll"), true);
        }
        const prediction = await readJson<Prediction>(response);
        if (isGone) continue;
        if (!prediction) throw new ProviderError("poll: not JSON", { retryable: true });
        switch (prediction.status) {
          case "succeeded":
            outputs.push(...toOutputs(prediction.output));
            break;
          case "failed":
            if (contentPolicy.test(toText(prediction.error))) failure = { status: "failed", code: "content_policy_violation" };
            break;
          // "aborted" is its deadline, before it started (replicate.com/docs, prediction lifecycle).
          case "canceled":
          case "aborted":
            break;
          default:
            return { status: "pending" };
        }
      }
      return outputs.length > 0 ? { status: "succeeded", outputs } : failure;
    },

    async cancel(operation) {
      for (const id of JSON.parse(operation) as string[]) {
        const response = await call(`${predictionPath(id)}/cancel`, { method: "POST" });
        await response.body?.cancel();
        if (!response.ok && response.status !== 404) throw toFault(response, "cancel");
      }
    },
  };
}

const toText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** Its throttle tells in words when it ends, `Your rate limit resets in ~30s.` (replicate.com/docs), and not always in a header. */
async function parseRefusal(response: Response, step: string): Promise<ProviderError> {
  const body = response.bodyUsed ? undefined : await readJson<{ detail?: unknown } | null>(response);
  const [, seconds] = /resets in ~?(\d+)\s*s/i.exec(toText(body?.detail)) ?? [];
  const headers = new Headers(response.headers);
  if (seconds !== undefined && !headers.has("retry-after")) headers.set("retry-after", seconds);
  return toFault({ status: response.status, headers }, step);
}

/** The caller's pictures, then those of the characters: URLs as they are, others as data URIs. */
async function imageAddresses(job: Job): Promise<string[]> {
  const pictures: string[] = [];
  let inlineBytes = 0;
  for (const image of [...job.images, ...job.characters.map(({ picture }) => picture)]) {
    if (image.url !== undefined) {
      pictures.push(image.url);
      continue;
    }
    const picture = await image.read(async ({ bytes, type }) => {
      inlineBytes += bytes.byteLength;
      if (inlineBytes > mostInlineBytes)
        throw new ProviderError("start: more inline pictures than it takes", {
          retryable: false,
          nothingAccepted: job.askedAt === undefined,
        });
      return `data:${type};base64,${bytes.toBase64()}`;
    });
    pictures.push(picture);
  }
  return pictures;
}

/** A URL or a list of them, at a host of its own that is asked without the token; small files may come as data URIs. */
function toOutputs(output: unknown): Output[] {
  return [output].flat().flatMap((file) => {
    if (typeof file !== "string") return [];
    const [, type, base64] = /^data:([^;,]+);base64,(.+)$/s.exec(file) ?? [];
    return base64 !== undefined ? [toOutput(base64, type!)] : /^https?:/.test(file) ? [outputAt(file)] : [];
  });
}
