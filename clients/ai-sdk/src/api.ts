/** The gateway's HTTP API for the model classes: submissions that are charged once, waiting, files. */

import { APICallError, type SharedV4ProviderOptions } from "@ai-sdk/provider";

/** The parameters of a model call. */
export interface CallOptions {
  abortSignal?: AbortSignal | undefined;
  headers?: Record<string, string | undefined> | undefined;
}

export interface Task {
  id: string;
  model: string;
  status: "queued" | "in_progress" | "completed" | "failed";
  cost: { reserved: number; charged?: number };
  result?: { images?: { url: string[] }[]; videos?: { url: string[]; duration: number; size: string }[] };
  error?: { code: string; message: string };
}

const attempts = 6;

/** The time limit of an attempt: `signal` aborts after `timeout` milliseconds without `restart`, or with the caller's signal. */
interface Limit {
  signal: AbortSignal;
  restart: () => void;
}

export class GatewayApi {
  constructor(
    readonly origin: string,
    private readonly apiKey: string,
    private readonly fetch: typeof globalThis.fetch,
    private readonly timeout: number,
  ) {}

  /** Submits with an idempotency key for the call, unless the caller's headers contain one, so that repeats are one task. Returns the task's id. */
  async submit(path: string, body: object, options: CallOptions): Promise<string> {
    const headers = { "content-type": "application/json", "idempotency-key": crypto.randomUUID(), ...lowerCased(options.headers) };
    const { id } = await this.ask<{ id: string }>(path, { method: "POST", headers, body: JSON.stringify(body) }, options.abortSignal);
    return id;
  }

  /** Returns a task; with `wait`, when it has ended or this many seconds have passed. */
  async task(id: string, { abortSignal, headers }: CallOptions, wait = 0): Promise<Task> {
    const path = `/v1/tasks/${encodeURIComponent(id)}`;
    // A repeat does not wait: the key may have the maximum of waits open.
    const first = wait > 0 ? `${path}?wait=${wait}` : path;
    return (await this.ask<{ data: Task }>(path, { headers: lowerCased(headers) }, abortSignal, first)).data;
  }

  /** The bytes of a file. A cut connection is continued where it ended; the time limit is for each part. */
  async file(url: string, abortSignal?: AbortSignal): Promise<Uint8Array> {
    let parts: Uint8Array<ArrayBuffer>[] = [];
    let received = 0;
    let etag: string | null = null;
    await this.repeat(abortSignal, async (_, limit) => {
      const range = { range: `bytes=${received}-`, ...(etag !== null && { "if-range": etag }) };
      const response = await this.fetch(url, { headers: received > 0 ? range : {}, signal: limit.signal });
      if (!response.ok || !response.body) throw await this.toError(url, {}, response);
      // From the start again: it was changed, or its host does not continue files.
      if (response.status !== 206) [parts, received] = [[], 0];
      etag = response.headers.get("etag");
      const reader = response.body.getReader();
      for (;;) {
        limit.restart();
        const { done, value } = await reader.read();
        if (done) return;
        parts.push(value);
        received += value.length;
      }
    });
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  /** The JSON of an answer. `first` is the path of the first attempt. */
  private ask<T>(path: string, init: RequestInit, signal: AbortSignal | undefined, first = path): Promise<T> {
    const headers = { authorization: `Bearer ${this.apiKey}`, ...(init.headers as Record<string, string>) };
    return this.repeat(signal, async (attempt, limit) => {
      const url = this.origin + (attempt === 1 ? first : path);
      const response = await this.fetch(url, { ...init, headers, signal: limit.signal });
      if (!response.ok) throw await this.toError(url, init.body, response);
      return (await response.json()) as T;
    });
  }

  /** Repeats what did not arrive whole or was answered as busy or faulty, with growing pauses: a retry by the SDK would be another submission. */
  private async repeat<T>(signal: AbortSignal | undefined, work: (attempt: number, limit: Limit) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      const end = new AbortController();
      const expire = () => end.abort(new DOMException(`Nothing arrived within ${this.timeout} ms.`, "TimeoutError"));
      let timer = setTimeout(expire, this.timeout);
      const restart = () => {
        clearTimeout(timer);
        timer = setTimeout(expire, this.timeout);
      };
      try {
        return await work(attempt, { signal: signal ? AbortSignal.any([signal, end.signal]) : end.signal, restart });
      } catch (error) {
        if (signal?.aborted || attempt === attempts || !isPassing(error)) throw error;
        await sleep(pauseAfter(error, attempt), signal);
      } finally {
        clearTimeout(timer);
      }
    }
  }

  private async toError(url: string, requestBodyValues: unknown, response: Response): Promise<APICallError> {
    const responseBody = await response.text();
    const responseHeaders = Object.fromEntries(response.headers);
    let message = `HTTP ${response.status}`;
    try {
      message = (JSON.parse(responseBody) as { error: { message: string } }).error.message;
    } catch {
      // Not an answer of the gateway: only the status is known.
    }
    const { status: statusCode } = response;
    return new APICallError({ message, url, requestBodyValues, statusCode, responseHeaders, responseBody, isRetryable: false });
  }
}

/** True for faults that a repeat may not meet; also an answer that was cut, or is no JSON. */
const isPassing = (error: unknown) =>
  !APICallError.isInstance(error) || error.statusCode === 408 || error.statusCode === 429 || (error.statusCode ?? 0) >= 500;

/** Milliseconds. */
function pauseAfter(error: unknown, attempt: number): number {
  const wanted = APICallError.isInstance(error) ? Number(error.responseHeaders?.["retry-after"]) : 0;
  return Math.min(wanted || 2 ** attempt / 4, 60) * 1000;
}

/** Ends at once with the signal. */
async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}

const lowerCased = (headers: Record<string, string | undefined> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), value]])));

/** The gateway's own fields: those of the model's settings, and before them `providerOptions.generationGateway`. */
export function ownFields(settings: { metadata?: object }, options: SharedV4ProviderOptions): { metadata?: object } {
  const given: { metadata?: object } = options["generationGateway"] ?? {};
  const metadata = { ...settings.metadata, ...given.metadata };
  return { ...settings, ...given, ...(Object.keys(metadata).length > 0 && { metadata }) };
}

/** An image of a call in the gateway's format: a URL or a data URI. */
export function toImage(file: { type: "url"; url: string } | { type: "file"; mediaType: string; data: string | Uint8Array }): string {
  if (file.type === "url") return file.url;
  const base64 = typeof file.data === "string" ? file.data : btoa(Array.from(file.data, (byte) => String.fromCharCode(byte)).join(""));
  return `data:${file.mediaType};base64,${base64}`;
}

export const toResponse = (modelId: string) => ({ timestamp: new Date(), modelId, headers: undefined });

/** The error of a failed task. Not retryable: the caller decides whether to submit again. */
export const failure = ({ error }: Task) => `${error?.code}: ${error?.message}`;
