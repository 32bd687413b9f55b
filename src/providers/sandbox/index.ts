/** The built-in sandbox Worker as a provider. `src/sandbox/worker.ts` documents its wire format. */

import type { FailureCode } from "../../base/errors.ts";
import { sha256Hex } from "../../base/ids.ts";
import { chatAt } from "../shared/chat-at.ts";
import { sourceClip } from "../shared/clip.ts";
import { fixedRatio } from "../shared/frames.ts";
import { ask, jsonPost, toFault } from "../shared/http.ts";
import { ownFailure, blocked, type Job, type Output, type Provider } from "../provider.ts";

interface WireOutput {
  url: string;
  thumbnail_url?: string;
}

interface WireOperation {
  id: string;
  status: "queued" | "running" | "succeeded" | "failed";
  progress?: number;
  poll_after_ms?: number;
  error?: { code: string };
  outputs?: WireOutput[];
  character?: { username: string; display_name: string };
}

const base = "http://sandbox";
const failureCodes: Record<string, FailureCode> = { content_policy_violation: "content_policy_violation", invalid_input: "invalid_input" };

/** The sandbox behind its service binding. It accepts idempotency keys: a repeated start generates nothing twice. */
export function sandbox(fetcher: Fetcher): Provider {
  const call = (path: string, init: RequestInit = {}) => ask(fetcher, base + path, init);
  /** Ends the operation, and deletes its record with the prompt. Returns its last status, undefined if nothing of it was left. */
  const remove = async (id: string): Promise<string | undefined> => {
    const response = await call(`/v1/operations/${id}`, { method: "DELETE" });
    if (response.ok) return (await response.json<{ status: string }>()).status;
    await response.body?.cancel();
    if (response.status !== 404) throw toFault(response, "erase");
    return undefined;
  };
  const output = (wire: WireOutput): Output => ({
    async open() {
      const response = await call(wire.url);
      if (!response.ok || !response.body) throw toFault(response, "output");
      const length = response.headers.get("content-length");
      return { body: response.body, ...(length !== null && { length: Number(length) }) };
    },
    ...(wire.thumbnail_url && { thumbnail: output({ url: wire.thumbnail_url }) }),
  });

  return {
    name: "sandbox",
    repeatable: true,
    startTimeoutMs: () => 45_000,
    reportsProgress: true,
    typicalSeconds: { image: 2, video: 6, remix: 6, character: 3 },

    imageOutputs: () => ({ formats: ["png"], backgrounds: ["opaque"] }),

    // It draws no labels, and accepts every choice of one, like `watermark`: its results are for tests.
    labelSwitch: () => "switch",

    refuses: (prompt) => prompt.includes("sandbox:reject"),

    async start(job, signal) {
      const response =
        job.kind === "character"
          ? await startCharacter(job, call, signal)
          : await call("/v1/operations", await operationRequest(job, signal));
      if (response.status === 422) return blocked;
      if (!response.ok) throw toFault(response, "start");
      const operation = await response.json<WireOperation>();
      return {
        status: "accepted",
        operation: operation.id,
        ...(operation.poll_after_ms !== undefined && { pollAfterMs: operation.poll_after_ms }),
      };
    },

    async poll(id) {
      const response = await call(`/v1/operations/${id}`);
      // The work was accepted, and the sandbox has deleted its record.
      if (response.status === 404) return ownFailure;
      if (!response.ok) throw toFault(response, "poll");
      const operation = await response.json<WireOperation>();
      switch (operation.status) {
        case "queued":
        case "running":
          return {
            status: "pending",
            ...(operation.progress !== undefined && { progress: operation.progress }),
            ...(operation.poll_after_ms !== undefined && { pollAfterMs: operation.poll_after_ms }),
          };
        case "failed":
          return { status: "failed", code: failureCodes[operation.error?.code ?? ""] ?? "provider_error" };
        case "succeeded":
          return {
            status: "succeeded",
            outputs: (operation.outputs ?? []).map(output),
            ...(operation.character && {
              character: { username: operation.character.username, displayName: operation.character.display_name },
            }),
          };
      }
    },

    async cancel(id) {
      return (await remove(id)) === "cancelled";
    },

    async erase(id) {
      await remove(id);
    },

    chat: chatAt(`${base}/v1`, {}, { fetcher }),
  };
}

/** Reads the images, so that invalid ones are refused, and sends their type, digest and role. */
async function operationRequest(job: Job, signal: AbortSignal): Promise<RequestInit> {
  const references = [];
  for (const image of job.images) {
    const reference = await image.read(async ({ bytes, type }) => ({
      sha256: await sha256Hex(bytes),
      type,
      role: image.role,
    }));
    references.push(reference);
  }
  const body = {
    key: job.key,
    kind: job.kind,
    model: job.model,
    prompt: job.prompt,
    n: job.n,
    size: job.size === undefined ? undefined : fixedRatio(job.size),
    quality: job.quality,
    duration: job.duration,
    resolution: job.resolution,
    thumbnail: job.thumbnail,
    style: job.style,
    references,
    source_sha256: job.source?.digest,
  };
  return { ...jsonPost(body), signal };
}

async function startCharacter(
  job: Job,
  call: (path: string, init?: RequestInit) => Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  const { source, start, end } = sourceClip(job);
  const query = new URLSearchParams({ key: job.key, model: job.model, start: String(start), end: String(end), name: job.name ?? "" });
  const body = await source.open();
  return call(`/v1/characters?${query.toString()}`, { method: "POST", headers: { "content-type": "video/mp4" }, body, signal });
}
