/** The context of a tool call. */

import type { ApiClient } from "../client.ts";
import type { ModelEntry } from "./models.ts";

export type Arguments = Record<string, unknown>;

/** The caller: the API with its key, the models that it may use, and its session, which is part of idempotency keys. */
export interface Caller {
  client: ApiClient;
  models: ModelEntry[];
  session: string;
}

/** One call of a tool. */
export interface Context extends Caller {
  tool: string;
  /** Sends a progress notification, in percent; undefined if the client gave no progressToken. */
  report?: (progress: number, message: string) => Promise<void>;
  /** True if the client has cancelled the call. The task continues. */
  isCancelled: () => boolean;
  /** True if the client declared the tasks extension: then a task is returned instead of waiting for the result. */
  asTask: boolean;
}
