/** Calls the gateway as the caller, and converts its errors into OpenAI's. */

import { toOpenAiError } from "./errors.ts";
import type { AppContext } from "./paths.ts";

/** The headers of every request to the gateway: the caller's authorization and language. */
const forwarded = ["authorization", "accept-language"];

interface Question {
  method?: string;
  /** The JSON body, as a value or as bytes. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Sends a request to a path of the gateway. Throws `OpenAiError` if the gateway answers with an error. */
export async function ask(c: AppContext, path: string, { method, body, headers = {} }: Question = {}): Promise<Response> {
  const own = forwarded.flatMap((name) => {
    const value = c.req.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const language = c.req.query("language");
  const url = new URL(path, c.req.url);
  if (language !== undefined) url.searchParams.set("language", language);
  const response = await c.env.API.fetch(
    new Request(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { ...Object.fromEntries(own), ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: body instanceof ReadableStream ? body : JSON.stringify(body) }),
    }),
  );
  const limits = [...response.headers].filter(([header]) => header.startsWith("x-ratelimit-"));
  if (limits.length > 0) c.set("limits", limits);
  if (response.status >= 400) throw await toOpenAiError(response);
  return response;
}

/** A task in the format of the generic status query. */
export interface TaskData {
  id: string;
  model: string;
  status: "queued" | "in_progress" | "completed" | "failed";
  progress: number;
  created_at: number;
  completed_at?: number;
  expires_at?: number;
  metadata: {
    kind: "image" | "video" | "remix" | "character";
    prompt?: string;
    duration?: number;
    size?: string;
    requested_model?: string;
    source_task?: string;
  };
  result?: {
    images?: { url: string[] }[];
    videos?: { url: string[]; thumbnail?: string; duration: number; size: string }[];
    data?: { characters: { id: string; username: string; display_name: string }[] };
  };
  error?: { code: string; message: string };
}

/** A task of the caller; `waitS` holds the answer until the task has ended or this many seconds have passed. */
export async function readTask(c: AppContext, id: string, waitS = 0): Promise<TaskData> {
  const response = await ask(c, `/v1/tasks/${encodeURIComponent(id)}${waitS > 0 ? `?wait=${waitS}` : ""}`);
  return (await response.json<{ data: TaskData }>()).data;
}

/** Opens a file by its signed URL. Reads it from the gateway itself, whatever the URL's base. */
export function openFile(c: AppContext, signedUrl: string, headers: Record<string, string> = {}): Promise<Response> {
  const { pathname, search } = new URL(signedUrl);
  return ask(c, pathname + search, { headers });
}
