/** Requests to the gateway: options, time limits, retries, errors. */

import { type APIError, ConnectionError, GatewayError, TimeoutError, toError } from "./errors.js";

export interface Logger {
  debug(message: string): void;
  warn(message: string): void;
}

export interface GatewayOptions {
  /** The gateway's URL, with or without `/v1`. Defaults to the variable `GATEWAY_URL`. */
  baseURL?: string | undefined;
  /** An API key, or a client token. Defaults to the variable `GATEWAY_KEY`. */
  apiKey?: string | undefined;
  /** Milliseconds until an attempt is given up; for streams and downloads, until they begin, and until each next part. Default 120,000. */
  timeout?: number | undefined;
  /** How often a request is repeated. Default 4. */
  maxRetries?: number | undefined;
  /** Headers of every request, such as `Accept-Language`. */
  headers?: Record<string, string> | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** Gets a line for each request (`debug`) and each repeat (`warn`); `console`, for example. Keys and bodies are not logged. */
  logger?: Logger | undefined;
}

export interface RequestOptions {
  /** Ends the request, and a pause before its repeat, at once. A task continues. */
  signal?: AbortSignal | undefined;
  timeout?: number | undefined;
  maxRetries?: number | undefined;
  headers?: Record<string, string> | undefined;
}

interface Call extends RequestOptions {
  query?: object | undefined;
  /** A file as it is, anything else as JSON. */
  body?: object | undefined;
}

const variable = (name: string): string | undefined =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];

export class Http {
  readonly origin: string;
  readonly options: GatewayOptions;
  constructor(options: GatewayOptions) {
    const { baseURL = variable("GATEWAY_URL"), apiKey = variable("GATEWAY_KEY") } = options;
    if (!baseURL || !apiKey) throw new TypeError("baseURL or apiKey is missing.");
    this.origin = baseURL.replace(/\/+$/, "").replace(/\/v1$/, "");
    this.options = { ...options, apiKey };
  }

  json = <T>(method: string, path: string, call: Call = {}): Promise<T> =>
    this.send(method, path, call, async (response) => (response.status === 204 ? undefined : JSON.parse(await response.text())) as T);

  /** The answer as soon as its head is there. Its body fails like a request: with the signal, or when its next part does not arrive in time. */
  open = (method: string, path: string, call: Call = {}): Promise<Response> =>
    this.send(
      method,
      path,
      call,
      async ({ body, status, headers }, limit) => new Response(body && limited(body, limit), { status, headers }),
    );

  /** Sends, reads, and repeats with growing pauses what did not arrive or was answered as busy or faulty. */
  private async send<T>(method: string, path: string, call: Call, read: Read<T>): Promise<T> {
    const { signal, maxRetries = this.options.maxRetries ?? 4 } = call;
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      try {
        return await this.attempt(method, path, attempt > 0 ? withoutWait(call) : call, read);
      } catch (error) {
        signal?.throwIfAborted();
        if (attempt >= maxRetries || !isPassing(error, method + path)) throw error;
        const { retryAfter = 2 ** attempt / 2 } = error as { retryAfter?: number };
        const pause = Math.min(retryAfter, 60) * (1 + Math.random() / 4);
        this.options.logger?.warn(`${method} ${path}: ${(error as Error).message} Again in ${pause.toFixed(1)} s.`);
        await sleep(pause * 1000, signal);
      }
    }
  }

  private async attempt<T>(method: string, path: string, call: Call, read: Read<T>): Promise<T> {
    const { signal, timeout = this.options.timeout ?? 120_000, query, body } = call;
    const { apiKey, fetch = globalThis.fetch, logger } = this.options;
    const url = new URL(path, `${this.origin}/`);
    for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) url.searchParams.set(name, String(value));
    // A key is sent to the API alone, not with links to files or other addresses.
    const isOwn = /^\/\w/.test(path) || path.startsWith(`${this.origin}/v1/`);
    const headers = new Headers(isOwn ? { authorization: `Bearer ${apiKey}`, ...this.options.headers } : {});
    for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
    const isRaw = !body || body instanceof Blob;
    if (!isRaw) headers.set("content-type", "application/json");
    const limit = new Limit(timeout, signal);
    const started = Date.now();
    return limit.hold(async () => {
      const init = { method, headers, body: isRaw ? (body ?? null) : JSON.stringify(body), signal: limit.signal };
      const response = await fetch(url, init);
      limit.hasBegun = true;
      logger?.debug(`${method} ${url.pathname} ${response.status} in ${Date.now() - started} ms, ${response.headers.get("x-request-id")}`);
      if (!response.ok) throw toError(response.status, response.headers, await response.text());
      return read(response, limit);
    });
  }
}

type Read<T> = (response: Response, limit: Limit) => Promise<T>;

/** The time limit of an attempt, or of each part of its answer. */
class Limit {
  hasBegun = false;
  readonly signal: AbortSignal;
  private readonly end = new AbortController();
  constructor(
    private readonly timeout: number,
    private readonly given?: AbortSignal,
  ) {
    this.signal = given ? AbortSignal.any([given, this.end.signal]) : this.end.signal;
  }
  /** Waits for the work at most for the time limit. Its faults become errors of this package, except the caller's own reason to abort. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.end.abort(), this.timeout);
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof GatewayError || this.given?.aborted) throw cause;
      const error = this.end.signal.aborted
        ? new TimeoutError(`Nothing arrived within ${this.timeout} ms.`, { cause })
        : // Also an answer that is no JSON: it was cut, or is not the gateway's.
          new ConnectionError(this.hasBegun ? "The answer was cut." : "The gateway cannot be reached.", { cause });
      error.hasBegun = this.hasBegun;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A body under a time limit, which runs only while its reader waits for the next part. */
function limited(body: ReadableStream<Uint8Array<ArrayBuffer>>, limit: Limit): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const source: UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> = {
    async pull(controller) {
      const { done, value } = await limit.hold(() => reader.read());
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/**
 * True for faults that a repeat may not meet. Chats, payments, rotations and an operator's changes have no key: unless the gateway itself
 * says that it is busy, they may be done, and are not done twice.
 */
function isPassing(error: unknown, call: string): unknown {
  // The fault of a connection has no status, a page of the platform's has no code.
  const { status = 500, code } = error as Partial<APIError>;
  return (
    error instanceof GatewayError &&
    (status < 500 ? status === 408 || status === 429 : (status === 503 && code) || !/^P.*\/(chat|pay|adm|webhook_)/i.test(call))
  );
}

/** A repeat does not wait for the task: the key may have the maximum of waits open. */
const withoutWait = (call: Call): Call => ({ ...call, query: { ...call.query, wait: undefined } });

/** Ends at once with the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
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
