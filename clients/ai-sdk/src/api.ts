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

export class GatewayApi {
  constructor(
    readonly origin: string,
    private readonly apiKey: string,
    private readonly fetch: typeof globalThis.fetch,
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

  async file(url: string, abortSignal?: AbortSignal): Promise<Uint8Array> {
    const response = await this.fetch(url, { signal: abortSignal ?? null });
    if (!response.ok) throw await this.toError(url, {}, response);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Retries `path` with growing delays if the gateway cannot be reached or is busy: a retry by the SDK would be another submission. `first` is the path of the first attempt. */
  private async ask<T>(path: string, init: RequestInit, signal: AbortSignal | undefined, first = path): Promise<T> {
    const headers = { authorization: `Bearer ${this.apiKey}`, ...(init.headers as Record<string, string>) };
    for (let attempt = 1; ; attempt++) {
      const url = this.origin + (attempt === 1 ? first : path);
      const response = await this.fetch(url, { ...init, headers, signal: signal ?? null }).catch((error: unknown) => {
        if (attempt === attempts || signal?.aborted) throw error;
        return undefined;
      });
      if (response?.ok) return (await response.json()) as T;
      if (response && (attempt === attempts || (response.status !== 429 && response.status < 500)))
        throw await this.toError(url, init.body, response);
      const seconds = Number(response?.headers.get("retry-after")) || 2 ** attempt / 4;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      signal?.throwIfAborted();
    }
  }

  private async toError(url: string, requestBodyValues: unknown, response: Response): Promise<APICallError> {
    const responseBody = await response.text();
    let message = `HTTP ${response.status}`;
    try {
      message = (JSON.parse(responseBody) as { error: { message: string } }).error.message;
    } catch {
      // Not an answer of the gateway: only the status is known.
    }
    return new APICallError({ message, url, requestBodyValues, statusCode: response.status, responseBody, isRetryable: false });
  }
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
