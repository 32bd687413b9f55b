/** The results of a batch in OpenAI's format: one line for each request, the completed and the failed ones as two files. */

import type { AppContext } from "./context.ts";
import type { TaskData } from "../client.ts";
import { toError } from "./errors.ts";
import { batchOf, type StoredFile } from "./file-view.ts";
import { usage } from "./image-answer.ts";
import { readLines } from "./lines.ts";
import { toVideo } from "./video-view.ts";

/** A line of the gateway's results. */
interface ResultLine {
  custom_id: string | null;
  status: "completed" | "failed";
  task?: string;
  response?: TaskData | ChatCompletion;
  error?: { code: string; message: string; param?: string | null };
}

/** True if the file has the results of a batch that was begun on these paths. */
export async function findResults(c: AppContext, { id, filename }: StoredFile): Promise<boolean> {
  const batch = batchOf(filename);
  if (batch === undefined) return false;
  const answer = await c.var.gateway.send(`/v1/batches/${batch}`);
  if (!answer.ok) return (await answer.body?.cancel(), false);
  const { results_file: results, openai } = await answer.json<{ results_file?: string; openai?: object }>();
  return results === id && openai !== undefined;
}

/** The lines of the results with this status, converted while they are read. */
export function toOutput(results: ReadableStream<Uint8Array>, status: ResultLine["status"]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const lines = readLines(results);
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { done, value } = await lines.next();
        if (done) return controller.close();
        const line = JSON.parse(value.text) as ResultLine;
        if (line.status !== status) continue;
        return controller.enqueue(encoder.encode(`${JSON.stringify(toLine(line, value.line))}\n`));
      }
    },
    async cancel() {
      await lines.return();
    },
  });
}

function toLine({ custom_id, task, response, error }: ResultLine, at: number) {
  const id = task ?? `line_${at}`;
  const answered = (status: number, body: object) => ({ status_code: status, request_id: id, body });
  const failed = error && toError(error, 400);
  return {
    id: `batch_req_${id}`,
    custom_id,
    response: failed ? answered(failed.status, { error: failed.body }) : response ? answered(200, toBody(response)) : null,
    error: null,
  };
}

/** A chat's answer has OpenAI's form already. */
interface ChatCompletion {
  object: "chat.completion";
}

const isChat = (response: TaskData | ChatCompletion): response is ChatCompletion =>
  "object" in response && response.object === "chat.completion";

const toBody = (task: TaskData | ChatCompletion) =>
  isChat(task)
    ? task
    : task.result?.videos
      ? toVideo(task)
      : { created: task.created_at, data: (task.result?.images ?? []).flatMap(({ url }) => url).map((url) => ({ url })), usage };
