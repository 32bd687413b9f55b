/** `/v1/tasks/{id}/events`: a task's states as server-sent events. The Worker asks the object again and again, which does not keep it awake. */

import { ApiError } from "../errors.ts";
import { alert } from "../log.ts";
import { type AppContext } from "./frame.ts";
import { askTask } from "./status.ts";

/** Milliseconds from one question to the next, in the first minute and after it. */
const quickStepMs = 1_000;
const slowStepMs = 2_000;
const quickMs = 60_000;
const commentMs = 15_000;
/** A stream ends after this long at the latest: one invocation may ask objects a thousand times. Clients come back by themselves. */
const maxStreamMs = 900_000;

/** A task's state as one event. */
interface State {
  /** Stands for everything in the data but the seconds that pass. */
  version: string;
  data: string;
  isFinal: boolean;
}

const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store, no-transform" };

/** Streams the task's states, beginning with the present one unless `Last-Event-ID` says that it was seen; ends after the final one. */
export async function streamTask(c: AppContext, taskId: string): Promise<Response> {
  c.set("task", taskId.slice(0, 64));
  const first = await readState(c, taskId);
  if (!first) throw new ApiError("task_not_found");
  const seen = c.req.header("last-event-id");
  // Nothing will come any more: 204 keeps an EventSource from connecting again.
  if (first.isFinal && first.version === seen) return c.body(null, 204);
  return new Response(stream(c, taskId, first, seen), { headers: { ...headers, "content-language": c.get("language") } });
}

function stream(c: AppContext, taskId: string, first: State, seen: string | undefined): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const began = Date.now();
  let state: State | undefined = first;
  let sent = seen;
  let sentAt = began;
  const reader = new AbortController();
  // How long a client waits before it connects again, in milliseconds.
  let text = "retry: 3000\n\n";
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (!reader.signal.aborted) {
          if (state && state.version !== sent) {
            text += `event: task\nid: ${state.version}\ndata: ${state.data}\n\n`;
            sent = state.version;
          } else if (Date.now() - sentAt >= commentMs) text += ": still here\n\n";
          if (text) {
            controller.enqueue(encoder.encode(text));
            text = "";
            sentAt = Date.now();
            if (state && !state.isFinal) return;
          }
          const age = Date.now() - began;
          if (!state || state.isFinal || age >= maxStreamMs) return controller.close();
          await scheduler.wait(age < quickMs ? quickStepMs : slowStepMs);
          state = await readState(c, taskId).catch((error: unknown) => {
            alert("request", { request: c.get("requestId"), task: taskId, outcome: "stream_ended" }, error);
            return undefined;
          });
        }
      },
      cancel() {
        reader.abort();
      },
    },
    // Asked only while somebody reads.
    { highWaterMark: 0 },
  );
}

async function readState(c: AppContext, taskId: string): Promise<State | undefined> {
  const response = await askTask(c, taskId, "generic");
  if (!response) return undefined;
  const { data } = await response.json<{ data: object }>();
  return {
    version: /"(.*)"/.exec(response.headers.get("etag")!)![1]!,
    data: JSON.stringify(data),
    isFinal: !response.headers.has("retry-after"),
  };
}
