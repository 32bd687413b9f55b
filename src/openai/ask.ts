/** Calls the gateway as the caller, and converts its errors into OpenAI's. */

import { toOpenAiError } from "./errors.ts";
import type { AppContext } from "./paths.ts";

/** What goes along with every question: who asks, and in which language. */
const forwarded = ["authorization", "accept-language"];

interface Question {
  method?: string;
  /** JSON: a value, or its bytes. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Asks the gateway for a path of its own. Throws `OpenAiError` when it refuses. */
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

/** A task as the generic query shows it. */
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

/** A task of the caller's; `waitS` holds the answer until it has ended or so many seconds have passed. */
export async function readTask(c: AppContext, id: string, waitS = 0): Promise<TaskData> {
  const response = await ask(c, `/v1/tasks/${encodeURIComponent(id)}${waitS > 0 ? `?wait=${waitS}` : ""}`);
  return (await response.json<{ data: TaskData }>()).data;
}

/** Opens a file by the signed URL that the gateway gave for it, wherever such URLs point: the gateway itself has it. */
export function openFile(c: AppContext, signedUrl: string, headers: Record<string, string> = {}): Promise<Response> {
  const { pathname, search } = new URL(signedUrl);
  return ask(c, pathname + search, { headers });
}
