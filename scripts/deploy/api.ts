/** Reads an account through Cloudflare's API. Changes are made through wrangler. */

import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { parseJson, toReason } from "../support/faults.ts";
import { Stop, stopFor } from "./stop.ts";

const attempts = 4;
const requestMs = 30_000;
/** The largest page that all lists allow. */
const pageSize = 50;
/** The API refuses all calls of a user for the rest of five minutes after 1,200 of them. */
const maxPauseSeconds = 300;

const envelope = z.object({
  success: z.boolean(),
  result: z.optional(z.unknown()),
  errors: z.optional(z.array(z.object({ code: z.number(), message: z.string() }))),
  result_info: z.nullish(z.object({ total_pages: z.optional(z.number()) })),
});

/** Cloudflare's API refused a call. */
export class ApiRefusal extends Error {
  override readonly name = "ApiRefusal";
  readonly status: number;
  readonly code: number | undefined;

  constructor(call: string, status: number, code: number | undefined, message: string) {
    super(`${call} answered ${status}${code === undefined ? "" : ` (code ${code})`}: ${message}`);
    this.status = status;
    this.code = code;
  }
}

/** The credentials of a call. */
export type Credentials = Record<string, string>;

/** Cloudflare's API with one account's credentials. */
export class CloudflareApi {
  readonly #base: string;
  readonly #credentials: Credentials;

  constructor(credentials: Credentials, base = process.env["CLOUDFLARE_API_BASE_URL"] ?? "https://api.cloudflare.com/client/v4") {
    this.#base = base;
    this.#credentials = credentials;
  }

  /** The same for files of a jurisdiction: R2 selects its buckets by a header. */
  within(jurisdiction: string | undefined): CloudflareApi {
    return jurisdiction === undefined ? this : new CloudflareApi({ ...this.#credentials, "cf-r2-jurisdiction": jurisdiction }, this.#base);
  }

  /** The result of a read. Retries network faults, 5xx and, after the time that the API asks for, 429; throws `ApiRefusal` if the API refuses the call. */
  async get<T>(path: string, shape: z.ZodMiniType<T>): Promise<T> {
    return shape.parse((await this.call("GET", path)).result);
  }

  /** All entries of a list that the API answers in pages. */
  async list<T>(path: string, shape: z.ZodMiniType<T[]>): Promise<T[]> {
    const all: T[] = [];
    for (let page = 1; ; page++) {
      const { result, pages } = await this.call("GET", `${path}${path.includes("?") ? "&" : "?"}per_page=${pageSize}&page=${page}`);
      const entries = shape.parse(result ?? []);
      all.push(...entries);
      // Some lists do not say how many pages they have.
      if (entries.length !== pageSize || page === pages) return all;
    }
  }

  /** Like `get`; undefined if the API answers 404, or 403 where `mayBeForbidden` is set. */
  async find<T>(path: string, shape: z.ZodMiniType<T>, mayBeForbidden = false): Promise<T | undefined> {
    try {
      return await this.get(path, shape);
    } catch (error) {
      if (error instanceof ApiRefusal && (error.status === 404 || (mayBeForbidden && error.status === 403))) return undefined;
      throw error;
    }
  }

  /** Any other call, where wrangler has no command. Only for calls that may be repeated. */
  async call(method: string, path: string, body?: object): Promise<{ result: unknown; pages: number | undefined }> {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(this.#base + path, {
        method,
        headers: { ...this.#credentials, ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(requestMs),
      }).catch((error: unknown) => toReason(error));
      const text = typeof response === "string" ? "" : await response.text().catch(() => "unreadable");
      // Some deletions have no body.
      if (typeof response !== "string" && response.ok && text === "") return { result: undefined, pages: undefined };
      const answer = envelope.safeParse(parseJson(text)).data;
      if (typeof response !== "string" && response.ok && answer?.success)
        return { result: answer.result, pages: answer.result_info?.total_pages };
      const mayPass = typeof response === "string" || response.status >= 500 || response.status === 429;
      if (mayPass && attempt < attempts) {
        const pause = typeof response !== "string" && response.status === 429 ? Number(response.headers.get("retry-after") ?? 60) : 0;
        await sleep(pause > 0 ? Math.min(pause, maxPauseSeconds) * 1000 : 500 * attempt);
        continue;
      }
      if (typeof response === "string")
        throw new Stop(
          `Cloudflare's API cannot be reached: ${response}`,
          "Check the network; behind a proxy set HTTPS_PROXY, and NODE_EXTRA_CA_CERTS or SSL_CERT_FILE where it has its own certificate.",
        );
      const fault = answer?.errors?.[0];
      throw new ApiRefusal(`${method} ${path}`, response.status, fault?.code, fault?.message ?? "no reason given");
    }
  }
}

/** An error in the operator's words. */
export const toStop = (error: unknown): Stop =>
  error instanceof Stop
    ? error
    : ((error instanceof ApiRefusal ? stopFor(error.code) : undefined) ??
      new Stop(error instanceof Error ? error.message : String(error), "Run the same command again: it continues where it stopped."));
