/** Requests to a gateway that may crash at any moment: each is answered or lost, and losses are recorded with their time. */

import type * as z from "zod/mini";
import { parseJson, readShape, toReason } from "../support/faults.ts";

const requestDeadlineMs = 30_000;

/** A request without an answer, or with one that is not the gateway's. Times are of this machine. */
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

/** The options of a request. */
export interface Sending {
  body?: object | undefined;
  idempotencyKey?: string | undefined;
}

/** Sends a request to the gateway at this path. */
type Send = (path: string, init: RequestInit) => Promise<Response>;

/** Counts all requests of the clients, and the lost ones. */
export class HttpClient {
  readonly losses: Loss[] = [];
  requests = 0;
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Sends a request once. Undefined if there was no complete answer; its outcome is then unknown. */
  async ask(method: "GET" | "POST", path: string, token: string, { body, idempotencyKey }: Sending = {}): Promise<Answer | undefined> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    };
    return this.attempt(`${method} ${path}`, async (signal) => {
      const response = await this.#send(path, { method, headers, signal, ...(body && { body: JSON.stringify(body) }) });
      const text = await response.text();
      // All answers of the gateway have a request id. An answer without one comes from wrangler, when the gateway is down.
      if (!response.headers.has("x-request-id")) throw new Error(`answered ${response.status} by another server: ${text.slice(0, 200)}`);
      return { status: response.status, headers: response.headers, text };
    });
  }

  /** Sends a POST whose answer the caller reads as a stream. */
  async open(path: string, token: string, body: object, signal: AbortSignal): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return this.#send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  /** Runs a function that uses the connection; if it breaks, a loss is recorded, and the result is undefined. */
  async attempt<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const from = Date.now();
    this.requests++;
    try {
      return await work(AbortSignal.timeout(requestDeadlineMs));
    } catch (error) {
      this.losses.push({ from, to: Date.now(), what: `${what}: ${toReason(error)}` });
      return undefined;
    }
  }
}

/** Parses the answer's body with this schema. Throws with the difference if it does not match. */
export const read = <T>(shape: z.ZodMiniType<T>, { status, text }: Answer): T =>
  readShape(shape, parseJson(text), `answered ${status}`, `: ${text.slice(0, 500)}`);
