/** MiniMax as a provider: Hailuo through v1 (create, query, retrieve a file), H3 through v2 (create, query). */

import { parseJson } from "../../media/json-limits.ts";
import { readUnsigned } from "../shared/callbacks.ts";
import { bearerCall, outputAt, readText } from "../shared/http.ts";
import { parseLaterRefusal, readCode, isSensitive, type Refusable, parseRefusal } from "./errors.ts";
import { toBody, isMax, isV2, unsupportedField } from "./request.ts";
import { allImages } from "../shared/frames.ts";
import { jsonPieces, measurePieces, postPieces } from "../shared/streamed-body.ts";
import { ownFailure, blocked, type Failed, type Output, type Pending, type Provider, ProviderError, type Succeeded } from "../provider.ts";

interface Created extends Refusable {
  task_id?: string;
}
interface Cancelled extends Refusable {
  action?: string | null;
}
interface QueryV1 extends Refusable {
  status?: string;
  file_id?: string;
}
interface QueryV2 extends Refusable {
  task?: { status?: string; content?: { url?: string | null } | null; error?: Refusable["error"] } | null;
}
interface Retrieved extends Refusable {
  file?: { download_url?: string | null } | null;
}

const failedBy = (code: string | undefined): Failed => (isSensitive(code) ? blocked : ownFailure);

/** `base` has no trailing slash. Operations are `v1/<task id>` or `v2/<task id>`. */
export function minimax({ key, base }: { key: string; base: string }): Provider {
  const call = bearerCall(base, key);

  /** Requests the state of accepted work: the answer, or the verdict that it is lost. Throws retryable faults. */
  async function look<T extends Refusable>(step: string, path: string, isVerdict: (body: T) => boolean = () => false) {
    const response = await call(path);
    const body = await readAnswer<T>(response);
    if (body && isVerdict(body)) return { body };
    const refusal = parseLaterRefusal(step, response, body ?? {});
    if (refusal instanceof ProviderError) throw refusal;
    if (refusal) return { refusal };
    if (!body) throw new ProviderError("unreachable", `${step}: the answer is not JSON`);
    return { body };
  }

  async function pollV1(id: string): Promise<Pending | Succeeded | Failed> {
    const path = `/v1/query/video_generation?task_id=${encodeURIComponent(id)}`;
    // In a failed task's answer the code is the reason of the failure, not a refusal of this request.
    const { body, refusal } = await look<QueryV1>("poll", path, ({ status }) => status === "Fail");
    if (refusal) return refusal;
    if (body.status === "Fail") return failedBy(readCode(body));
    if (body.status !== "Success") return { status: "pending" };
    return body.file_id ? { status: "succeeded", outputs: [toFileOutput(body.file_id)] } : ownFailure;
  }

  /** A video of v1 has only a short-lived URL, which is requested each time it is opened. */
  const toFileOutput = (id: string): Output => ({
    async open() {
      const { body, refusal } = await look<Retrieved>("retrieve", `/v1/files/retrieve?file_id=${encodeURIComponent(id)}`);
      if (refusal) throw new ProviderError("unclear", "retrieve: the file is gone");
      if (!body.file?.download_url) throw new ProviderError("unreachable", "retrieve: the answer has no file.download_url");
      return outputAt(body.file.download_url).open();
    },
  });

  async function pollV2(id: string): Promise<Pending | Succeeded | Failed> {
    const { body, refusal } = await look<QueryV2>("poll", `/v2/query/video_generation/${encodeURIComponent(id)}`);
    if (refusal) return refusal;
    const { status, content, error } = body.task ?? {};
    switch (status) {
      case "succeeded":
        return content?.url ? { status: "succeeded", outputs: [outputAt(content.url)] } : ownFailure;
      case "failed":
        return failedBy(readCode({ error: error ?? null }));
      case "cancelled":
      case "expired":
        return ownFailure;
      default:
        return { status: "pending" };
    }
  }

  return {
    name: "minimax",
    // It accepts no idempotency key.
    repeatable: false,
    startTimeoutMs: () => 60_000,
    reportsProgress: false,
    unsupportedField,
    labelSwitch: ({ model }) => (isMax(model) ? undefined : "switch"),

    async start(job, signal) {
      const version = isV2(job.model) ? "v2" : "v1";
      const pieces = jsonPieces(allImages(job), (urls) => ({
        ...toBody(job, urls),
        callback_url: job.callbackUrl,
      }));
      const length = await measurePieces(pieces);
      const response = await postPieces((init) => call(`/${version}/video_generation`, init), pieces, { length, signal });
      const body = (await readAnswer<Created>(response)) ?? {};
      const refusal = parseRefusal("start", response, body, { hasImages: job.images.length > 0 });
      if (refusal instanceof ProviderError) throw refusal;
      if (refusal) return refusal;
      if (!body.task_id) throw new ProviderError("unclear", "start: the answer has no task_id");
      return { status: "accepted", operation: `${version}/${body.task_id}` };
    },

    poll(operation) {
      const [version, id] = parseOperation(operation);
      return version === "v2" ? pollV2(id) : pollV1(id);
    },

    readCallback: readUnsigned,

    /**
     * v2 cancels work that has not started. Work that has started, and all work of v1, cannot be cancelled. Polled first: the same call
     * deletes work that has ended, and then nothing says that it is billed.
     */
    async cancel(operation) {
      const [version, id] = parseOperation(operation);
      if (version !== "v2" || (await pollV2(id)).status !== "pending") return false;
      const response = await call(`/v2/video_generation/${encodeURIComponent(id)}`, { method: "DELETE" });
      const answer = (await readAnswer<Cancelled>(response)) ?? {};
      const refusal = parseLaterRefusal("cancel", response, answer);
      if (refusal instanceof ProviderError) throw refusal;
      // It may have ended since the poll.
      return refusal === undefined && answer.action !== "deleted";
    },
  };
}

function parseOperation(operation: string): [version: string, id: string] {
  const slash = operation.indexOf("/");
  return [operation.slice(0, slash), operation.slice(slash + 1)];
}

/** Reads an answer's JSON body; undefined if it is not JSON. Ids are int64, which JSON numbers would round: they are read as text. */
async function readAnswer<T>(response: Response): Promise<T | undefined> {
  const text = await readText(response);
  try {
    return parseJson(text.replaceAll(/("(?:task_|file_)?id"\s*:\s*)(\d+)/g, '$1"$2"')) as T;
  } catch {
    return undefined;
  }
}
