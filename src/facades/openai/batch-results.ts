/** The results of a batch in OpenAI's format: one line for each request, the completed and the failed ones as two files. */

import type { AppContext } from "./context.ts";
import type { TaskData } from "../client.ts";
import { toFailure, withFieldRenamed } from "./errors.ts";
import { batchOf, type StoredFile } from "./file-view.ts";
import { usage } from "./image-answer.ts";
import type { Fields } from "./form.ts";
import { readLines } from "./lines.ts";
import { toResponseParam } from "./responses/request.ts";
import { toResponse } from "./responses/responses.ts";
import { renamed, toVideo } from "./video-view.ts";

/** A line of the gateway's results. */
interface ResultLine {
  custom_id: string | null;
  status: "completed" | "failed";
  task?: string;
  response?: TaskData | ChatCompletion;
  error?: { code: string; message: string; param?: string | null };
  /** Of a chat: what its answer shows of the request. */
  openai?: Fields;
}

/** The endpoint of the batch that was begun on these paths, if the file has its results. */
export async function findEndpoint(c: AppContext, { id, filename }: StoredFile): Promise<string | undefined> {
  const batch = batchOf(filename);
  if (batch === undefined) return undefined;
  const answer = await c.var.gateway.send(`/v1/batches/${batch}`);
  if (!answer.ok) {
    await answer.body?.cancel();
    return undefined;
  }
  const { results_file: results, openai } = await answer.json<{ results_file?: string; openai?: { endpoint: string } }>();
  return results === id ? openai?.endpoint : undefined;
}

/** The lines of the results with this status, converted while they are read. */
export async function* toOutput(
  c: AppContext,
  results: ReadableStream<Uint8Array>,
  endpoint: string,
  status: ResultLine["status"],
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  for await (const { text, line: at } of readLines(results)) {
    const line = JSON.parse(text) as ResultLine;
    if (line.status === status) yield encoder.encode(`${JSON.stringify(toLine(c, endpoint, line, at))}\n`);
  }
}

function toLine(c: AppContext, endpoint: string, { custom_id, task, response, error, openai = {} }: ResultLine, at: number) {
  const id = task ?? `line_${at}`;
  const answered = (status: number, body: object) => ({ status_code: status, request_id: id, body });
  const isResponse = endpoint === "/v1/responses";
  const toParam = (param: string) => (isResponse ? toResponseParam(param) : endpoint === "/v1/videos" ? renamed[param] : param);
  const failed = error && withFieldRenamed(toFailure(error), toParam);
  const toChat = (chat: ChatCompletion) => (isResponse ? toResponse(c, chat, openai) : { ...chat, ...openai });
  return {
    id: `batch_req_${id}`,
    custom_id,
    response: failed
      ? answered(failed.status, { error: failed.body })
      : response
        ? answered(200, isChat(response) ? toChat(response) : toBody(response))
        : null,
    error: null,
  };
}

/** A chat's answer has OpenAI's form already, but for the name of the model that was asked for. */
interface ChatCompletion {
  object: "chat.completion";
  id: string;
  created: number;
}

const isChat = (response: TaskData | ChatCompletion): response is ChatCompletion =>
  "object" in response && response.object === "chat.completion";

const toBody = (task: TaskData) =>
  task.result?.videos
    ? toVideo(task)
    : { created: task.created_at, data: (task.result?.images ?? []).flatMap(({ url }) => url).map((url) => ({ url })), usage };
