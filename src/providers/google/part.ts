/** Shared by Google's three parts: settings, their interface to the provider, and the handles of accepted work. */

import type { Accepted, Failed, Job, Pending, Succeeded, GenerationRequest } from "../provider.ts";

export interface GoogleSettings {
  /** Switches images and Omni on. */
  gemini?: { key: string; baseUrl: string };
  /** Switches Veo on: the JSON key of a service account, and `https://{host}/v1/projects/{project}/locations/{location}`. */
  vertex?: { serviceAccount: string; baseUrl: string };
}

/** One of Google's three APIs. Its operations are JSON and begin with its name. */
export interface Part {
  unsupportedField(request: GenerationRequest): string | undefined;
  start(job: Job, signal: AbortSignal): Promise<Accepted | Succeeded | Failed>;
  poll?(handle: Handle): Promise<Pending | Succeeded | Failed>;
  cancel?(handle: Handle): Promise<boolean>;
}

/** A parsed operation: the part that accepted it, its name there, and the model if polling needs it. */
export interface Handle {
  part: "veo" | "omni";
  name: string;
  model?: string;
}

/** Treats a value that is not a list as empty: a final answer in an unexpected shape must not be polled forever. */
export const asList = <T>(value: T[] | null | undefined): T[] => (Array.isArray(value) ? value : []);

/** Parses an operation; undefined if another provider created it. */
export function parseHandle(operation: string): Handle | undefined {
  try {
    return JSON.parse(operation) as Handle;
  } catch {
    return undefined;
  }
}
