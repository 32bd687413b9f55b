/** Tasks in the gateway API's answers, and its refusals. */

import type { Kind } from "../../catalog/models.ts";
import type { Parameters } from "../../catalog/parse.ts";
import type { Task } from "../../tasks/record.ts";
import { askGateway, type ConsoleContext } from "../frame.tsx";

/** `data` of the generic query. Times are Unix seconds. */
export interface TaskData {
  id: string;
  model: string;
  status: Task["status"];
  progress: number;
  created_at: number;
  estimated_time?: number;
  metadata: Parameters & { kind: Kind; reserved: number; source_task?: string };
  expires_at?: number;
  /** By the kind of task, one of the three. */
  result?: {
    images?: { url: [string] }[];
    videos?: [{ url: [string]; thumbnail?: string; duration: number; size: string }];
    data?: { characters: [{ id: string; display_name: string; username: string; profile_picture_url: string }] };
  };
  error?: { code: string; message: string };
}

export const isOpen = ({ status }: TaskData) => status === "queued" || status === "in_progress";

/** True if its files have expired. */
export const isGone = ({ expires_at }: TaskData) => expires_at !== undefined && 1000 * expires_at <= Date.now();

/** An entry of `GET /v1/models`, with the fields that pages of tasks use. */
export interface ModelEntry {
  id: string;
  parameters: Schema;
  actions?: { character?: Schema; remix?: Schema };
  /** In balance units. */
  price: { second?: number; character?: number };
}

interface Schema {
  properties: Record<
    string,
    { enum?: (string | number)[]; default?: string | number; maxLength?: number; properties?: object } | undefined
  >;
}

/** The available models. */
export const usableModels = async (c: ConsoleContext): Promise<ModelEntry[]> =>
  (await (await askGateway(c, "/v1/models")).json<{ data?: ModelEntry[] }>()).data ?? [];

/** A refusal of the API, with its message in the user's language. */
export interface Refusal {
  text: string;
  status: 400 | 404 | 429 | 500;
}

interface ErrorBody {
  error: { message: string; details?: { param: string; message: string }[] };
}

/** Reads an error answer. All violations are shown, not only the first. */
export async function refusalOf(answer: Response): Promise<Refusal> {
  const { error } = await answer.json<ErrorBody>();
  const { details = [] } = error;
  const text = details.length > 1 ? details.map(({ param, message }) => `${param}: ${message}`).join("; ") : error.message;
  const { status } = answer;
  return { text, status: status >= 500 ? 500 : status === 404 || status === 429 ? status : 400 };
}
