/** A batch in OpenAI's format. */

import type { Batch } from "../client.ts";
import { errorsEnding } from "./file-view.ts";

const daySeconds = 86_400;

/** OpenAI's `batch` object. */
export function toBatch({ openai, ...made }: Batch) {
  const { id, status, counts, created_at, cancelled_at, ended_at, results_file: file, errors } = made;
  const endedAs = (name: Batch["status"]) => (status === name ? (ended_at ?? null) : null);
  return {
    id,
    object: "batch",
    endpoint: openai?.endpoint ?? "/v1/batches",
    errors: errors ? { object: "list", data: errors } : null,
    input_file_id: openai?.input_file_id ?? made.input_file ?? null,
    completion_window: "24h",
    status: cancelled_at !== undefined && ended_at === undefined ? "cancelling" : status,
    output_file_id: file !== undefined && counts.completed > 0 ? file : null,
    error_file_id: file !== undefined && counts.failed > 0 ? file + errorsEnding : null,
    created_at,
    in_progress_at: status === "validating" ? null : created_at,
    expires_at: created_at + daySeconds,
    finalizing_at: endedAs("completed"),
    completed_at: endedAs("completed"),
    failed_at: endedAs("failed"),
    expired_at: null,
    cancelling_at: cancelled_at ?? endedAs("cancelled"),
    cancelled_at: endedAs("cancelled"),
    request_counts: { total: counts.total, completed: counts.completed, failed: counts.failed },
    metadata: openai?.metadata ?? null,
  };
}
