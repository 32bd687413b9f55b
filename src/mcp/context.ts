/** What a call of a tool has at hand. */

import type { ApiClient } from "./api-client.ts";
import type { ModelEntry } from "./models.ts";

export type Arguments = Record<string, unknown>;

/** Who calls: the API in the name of the key, the models it may use, and what tells its calls from those of other sessions. */
export interface Caller {
  client: ApiClient;
  models: ModelEntry[];
  session: string;
}

/** One call of a tool. */
export interface Context extends Caller {
  tool: string;
  /** Tells the client how far a task is, in percent; undefined when it did not ask for it. */
  report?: (progress: number, message: string) => Promise<void>;
  /** Whether the client has given the call up. The task goes on. */
  isCancelled: () => boolean;
  /** The client takes a task in place of a result. */
  asTask: boolean;
}
