/** What Google's three parts have in common: settings, the contract with the provider, the handles of what they accepted. */

import type { Accepted, Failed, Job, Pending, Succeeded, GenerationRequest } from "../provider.ts";

export interface GoogleSettings {
  /** Switches pictures and Omni on. */
  gemini?: { key: string; baseUrl: string };
  /** Switches Veo on: the JSON key of a service account, and `https://{host}/v1/projects/{project}/locations/{location}`. */
  vertex?: { serviceAccount: string; baseUrl: string };
}

/** One of Google's three ways to make something. Its operations are JSON, and begin with its name. */
export interface Part {
  unable(request: GenerationRequest): string | undefined;
  start(job: Job, signal: AbortSignal): Promise<Accepted | Succeeded | Failed>;
  poll?(handle: Handle): Promise<Pending | Succeeded | Failed>;
  cancel?(handle: Handle): Promise<void>;
}

/** What an operation's text says: which part accepted it, its name there, and the model where that is needed to ask. */
export interface Handle {
  part: "veo" | "omni";
  name: string;
  model?: string;
}

/** The handle that an operation's text holds, or undefined when it is another provider's. */
export function parseHandle(operation: string): Handle | undefined {
  try {
    return JSON.parse(operation) as Handle;
  } catch {
    return undefined;
  }
}
