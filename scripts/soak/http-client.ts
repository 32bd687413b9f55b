/** Requests to a gateway that may die at any moment: each is answered or lost, and what was lost is remembered with its time. */

import type * as z from "zod/mini";

const requestDeadlineMs = 30_000;

/** A request that got no answer, or one that the gateway did not give. Times are those of this machine. */
export interface Loss {
  from: number;
  to: number;
  what: string;
}

/** An answer of the gateway itself. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** What may be sent with a request. */
export interface Sending {
  body?: object | undefined;
  idempotencyKey?: string | undefined;
}

/** Counts what all clients ask, and what of it was lost. */
export class HttpClient {
  readonly losses: Loss[] = [];
  requests = 0;
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** Asks once. Undefined when there was no whole answer; who asked cannot know what became of the request. */
  async ask(
    method: "GET" | "POST" | "PATCH",
    path: string,
    token: string,
    { body, idempotencyKey }: Sending = {},
  ): Promise<Answer | undefined> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    };
    return this.attempt(`${method} ${path}`, async (signal) => {
      const response = await fetch(this.#baseUrl + path, { method, headers, signal, ...(body && { body: JSON.stringify(body) }) });
      const text = await response.text();
      // The gateway marks all its answers. What has no mark comes from the tool that runs it, when the gateway is gone.
      if (!response.headers.has("x-request-id")) throw new Error(`answered ${response.status} by somebody else: ${text.slice(0, 200)}`);
      return { status: response.status, headers: response.headers, text };
    });
  }

  /** A POST whose answer is read piece by piece, by the one who asked. */
  async open(path: string, token: string, body: object, signal: AbortSignal): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return fetch(this.#baseUrl + path, { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  /** Runs something that talks to the gateway; a break of the connection is a loss, remembered, and answers undefined. */
  async attempt<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const from = Date.now();
    this.requests++;
    try {
      return await work(AbortSignal.timeout(requestDeadlineMs));
    } catch (error) {
      this.losses.push({ from, to: Date.now(), what: `${what}: ${reasonOf(error)}` });
      return undefined;
    }
  }
}

/** The answer's body in this shape. Throws with the difference when it has another one. */
export function read<T>(shape: z.ZodMiniType<T>, { status, text }: Answer): T {
  const { data, error } = shape.safeParse(parsed(text));
  if (error) {
    const faults = error.issues.map((issue) => `${issue.path.join(".")} ${issue.code}`).join(", ");
    throw new Error(`answered ${status} in another shape (${faults}): ${text.slice(0, 500)}`);
  }
  return data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON has no shape either: the caller tells what came instead.
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
