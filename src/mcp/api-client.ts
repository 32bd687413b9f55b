/** A client of the gateway's HTTP API for one caller: requests, JSON answers, and errors as text for a language model. */

import { describeError } from "./errors.ts";

/** The gateway's own API, passed with each request. */
export interface Api {
  fetch(request: Request): Promise<Response>;
}

interface Ask {
  /** A JSON body; a request with a body is a POST. */
  body?: object;
  method?: "POST";
  headers?: Record<string, string>;
}

export interface ApiAnswer<T> {
  headers: Headers;
  body: T;
}

/** The API answered with an error. The message says what to change, for the language model that called the tool. */
export class ApiRefusal extends Error {}

/** Calls the gateway with the key, language and IP address of the caller of `request`. */
export class ApiClient {
  readonly #api: Api;
  readonly #origin: string;
  readonly #headers: Record<string, string>;

  constructor(api: Api, request: Request) {
    this.#api = api;
    this.#origin = new URL(request.url).origin;
    const passed = ["authorization", "accept-language", "cf-connecting-ip"].map((name) => [name, request.headers.get(name)] as const);
    this.#headers = Object.fromEntries(passed.filter((header): header is readonly [string, string] => header[1] !== null));
  }

  /** Sends a request and returns the gateway's answer, whatever its status. */
  send(path: string, { body, method, headers }: Ask = {}): Promise<Response> {
    const request = new Request(this.#origin + path, {
      method: body ? "POST" : (method ?? "GET"),
      headers: { ...this.#headers, ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return this.#api.fetch(request);
  }

  /** Sends a request and returns the JSON of a successful answer. Throws `ApiRefusal`. */
  async ask<T>(path: string, options: Ask = {}): Promise<ApiAnswer<T>> {
    const response = await this.send(path, options);
    const body: unknown = await response.json();
    if (!response.ok) throw new ApiRefusal(describeError(body, response.headers.get("retry-after")));
    return { headers: response.headers, body: body as T };
  }

  /** The bytes and type of a stored file by its signed URL; undefined if it has `maxBytes` or more, or cannot be read. */
  async file(url: string, maxBytes: number): Promise<{ type: string; bytes: Uint8Array } | undefined> {
    // If the operator serves files under another base URL, the path and signature are the same.
    const at = url.search(/\/(?:assets|characters)\//);
    if (at === -1) return undefined;
    const address = this.#origin + url.slice(at);
    const head = await this.#api.fetch(new Request(address, { method: "HEAD" }));
    if (!head.ok || Number(head.headers.get("content-length") ?? Infinity) >= maxBytes) return undefined;
    const response = await this.#api.fetch(new Request(address));
    if (!response.ok) return undefined;
    return { type: response.headers.get("content-type") ?? "application/octet-stream", bytes: await response.bytes() };
  }
}
