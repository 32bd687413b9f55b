/** A client of the gateway's HTTP API for the Workers behind OpenAI's paths and `/mcp`: requests as their caller, and the answers' types from the API's schemas. */

import type * as z from "zod/mini";
import type { character } from "../api/schema/account.ts";
import type { batch } from "../api/schema/batches.ts";
import type { errorObject } from "../api/schema/errors.ts";
import type { modelEntry } from "../api/schema/models.ts";
import type { characterResult, dryRun, imageResult, taskData, videoResult } from "../api/schema/tasks.ts";
import type { GatewayApi } from "../rpc/gateway-api.ts";

/** Parameters in a task's metadata; which of them it has depends on its kind. */
interface Parameters {
  prompt?: string;
  duration?: number;
  size?: string;
  requested_model?: string;
  /** Of a model with its own input. */
  input?: { prompt?: unknown };
}

/** `data` of the generic status query. It has the result of its own kind only. */
export type TaskData = Omit<z.output<typeof taskData>, "result"> & {
  metadata: Parameters;
  result?: Partial<z.output<typeof imageResult> & z.output<typeof videoResult> & z.output<typeof characterResult>>;
};
/** The answer to a dry run: nothing was submitted. */
export type DryRun = z.output<typeof dryRun> & { metadata: Parameters };
export type Batch = z.output<typeof batch>;
export type Character = z.output<typeof character>;
export type ModelEntry = z.output<typeof modelEntry>;
export type GatewayError = z.output<typeof errorObject>;
/** A page of a list; `next_after` is in one that ended early. */
export interface Page<Row> {
  data: Row[];
  has_more: boolean;
  next_after?: string;
}

interface Question {
  /** By default POST for a request with a body. */
  method?: string;
  /** The JSON body, as a value or as bytes. */
  body?: unknown;
  headers?: Record<string, string>;
}

export const isFinal = ({ status }: TaskData) => status === "completed" || status === "failed";

/** The gateway's own path of a file by its signed URL. Path and signature are the same under each base URL of the operator. */
export const filePath = (signedUrl: string) => signedUrl.replace(/^.*?(?=\/(?:assets|characters)\/)/, "");

/** Encodes an id as one segment of a path. An empty id and dots would lead to another path: they become `-`, an id that nothing has. Half of a surrogate pair is replaced, because it has no encoding. */
export const toSegment = (id: string) => encodeURIComponent(/^\.{0,2}$/.test(id) ? "-" : id.toWellFormed());

/** Those of these headers that a request has. */
export const pickHeaders = ({ headers }: Request, names: string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );

/** Sends requests with the key and the language of its caller. */
export class ApiClient {
  readonly #api: Pick<GatewayApi, "fetch">;
  readonly #caller: Request;
  readonly #toError: (answer: Response) => Promise<Error>;
  /** The `x-ratelimit-*` headers of the last answer that had any. */
  limits: [string, string][] = [];

  /** `caller` is the caller's own request; `toError` converts the gateway's error answers to what `ask` throws. */
  constructor(api: Pick<GatewayApi, "fetch">, caller: Request, toError: (answer: Response) => Promise<Error>) {
    this.#api = api;
    this.#caller = caller;
    this.#toError = toError;
  }

  /** Sends a request to a path of the gateway and returns the answer, whatever its status. */
  async send(path: string, { body, method = body === undefined ? "GET" : "POST", headers = {} }: Question = {}): Promise<Response> {
    const url = new URL(path, this.#caller.url);
    const language = new URL(this.#caller.url).searchParams.get("language");
    if (language !== null) url.searchParams.set("language", language);
    const own = pickHeaders(this.#caller, ["authorization", "accept-language"]);
    const answer = await this.#api.fetch(
      new Request(url, {
        method,
        headers: { ...own, ...(body !== undefined && { "content-type": "application/json" }), ...headers },
        ...(body !== undefined && { body: body instanceof ReadableStream ? body : JSON.stringify(body) }),
      }),
    );
    const limits = [...answer.headers].filter(([header]) => header.startsWith("x-ratelimit-"));
    if (limits.length > 0) this.limits = limits;
    return answer;
  }

  /** Sends a request. Throws the error of `toError` if the gateway answers with one. */
  async ask(path: string, question?: Question): Promise<Response> {
    const answer = await this.send(path, question);
    if (answer.status >= 400) throw await this.#toError(answer);
    return answer;
  }

  /** The JSON of a successful answer. Throws like `ask`. */
  async read<T>(path: string, question?: Question): Promise<T> {
    return (await this.ask(path, question)).json<T>();
  }

  /** A task of the caller; `waitS` holds the answer until the task has ended or this many seconds have passed. Throws like `ask`. */
  async readTask(id: string, waitS = 0): Promise<TaskData> {
    return (await this.read<{ data: TaskData }>(`/v1/tasks/${toSegment(id)}${waitS > 0 ? `?wait=${waitS}` : ""}`)).data;
  }
}
