/** `/v1/tasks/{id}/events`: a task's states as server-sent events. The Worker polls the object, so that the object can hibernate. */

import { respond } from "../request/answer.ts";
import type { AppContext } from "../request/context.ts";
import { ApiError } from "../../base/errors.ts";
import { alert } from "../../base/log.ts";
import { type OpenWait, openWait } from "../request/open-wait.ts";
import { askTask } from "./status.ts";

/** Milliseconds between polls in the first minute, and later. */
const quickStepMs = 1_000;
const slowStepMs = 2_000;
const quickMs = 60_000;
const commentMs = 15_000;
/** A stream ends after this time, because one invocation may make a thousand calls: of the task, of the wallet, and for the key. Clients reconnect automatically. */
const maxStreamMs = 900_000;

interface State {
  /** The event id: changes with everything in the data except the elapsed seconds. */
  version: string;
  data: string;
  isFinal: boolean;
}

const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store, no-transform" };

/** Streams the task's states from the current one, unless `Last-Event-ID` is the current one; ends after the final one, or with its key. */
export async function streamTask(c: AppContext, taskId: string): Promise<Response> {
  c.set("task", taskId.slice(0, 64));
  const first = await readState(c, taskId);
  if (!first) throw new ApiError("task_not_found");
  const seen = c.req.header("last-event-id");
  // There are no more events: 204 stops an EventSource from reconnecting.
  if (first.isFinal && first.version === seen) return respond(c, null, 204);
  const wait = first.isFinal ? undefined : await openWait(c);
  return respond(c, stream(c, taskId, { first, seen, wait }), 200, { ...headers, "content-language": c.get("language") });
}

interface Begin {
  first: State;
  seen: string | undefined;
  /** Missing if the first state is final. */
  wait: OpenWait | undefined;
}

function stream(c: AppContext, taskId: string, { first, seen, wait }: Begin): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const began = Date.now();
  let state: State | undefined = first;
  let sent = seen;
  let commentedAt = began;
  const reader = new AbortController();
  // The client's reconnection delay in milliseconds.
  let text = "retry: 3000\n\n";
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (!reader.signal.aborted) {
          if (state && state.version !== sent) {
            text += `event: task\nid: ${state.version}\ndata: ${state.data}\n\n`;
            sent = state.version;
          }
          if (Date.now() - commentedAt >= commentMs) {
            text += ": still here\n\n";
            commentedAt = Date.now();
          }
          if (text) {
            controller.enqueue(encoder.encode(text));
            text = "";
            if (state && !state.isFinal) return;
          }
          const age = Date.now() - began;
          if (!state || state.isFinal || age >= maxStreamMs) {
            wait?.end();
            return controller.close();
          }
          try {
            await wait?.pause(age < quickMs ? quickStepMs : slowStepMs);
            state = await readState(c, taskId);
          } catch (error) {
            // The key has ended, or it has too many open streams: the client gets the error when it reconnects.
            if (!(error instanceof ApiError))
              alert("request", { request: c.get("requestId"), task: taskId, outcome: "stream_ended" }, error);
            state = undefined;
          }
        }
      },
      cancel() {
        reader.abort();
        wait?.end();
      },
    },
    // Polled only while the client reads.
    { highWaterMark: 0 },
  );
}

async function readState(c: AppContext, taskId: string): Promise<State | undefined> {
  const answer = await askTask(c, taskId, "generic");
  if (!answer) return undefined;
  const { data } = JSON.parse(answer.text) as { data: object };
  const [, version = ""] = /"(.*)"/.exec(answer.etag) ?? [];
  return { version, data: JSON.stringify(data), isFinal: answer.retryAfter === undefined };
}
