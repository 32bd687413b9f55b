/** The format of a path's definition: one for each operation; `document.ts` generates the description from them. */

import type * as z from "zod/mini";
import type { ErrorCode, Violation } from "../../src/base/errors.ts";
import type { HeaderName } from "./headers.ts";
import type { HeaderParameter } from "./parameters.ts";
import type { Tag } from "./tags.ts";

/** A named example: its value on the wire, and a summary. */
export type Examples = Record<string, unknown>;

/** One media type of a body. */
export interface Media {
  /** A zod schema that `schemas.ts` names, a list of several, or the name of a submission's body. Without it the body is bytes or text. */
  schema?: z.ZodMiniType | z.ZodMiniType[] | BodyName;
  examples?: Examples;
  /** For JSON lines: the schema of each. */
  lines?: z.ZodMiniType;
  /** For server-sent events: `schema` is that of the JSON in the data of each, as generators of clients expect it. */
  events?: Events;
}

/** The server-sent events of a stream. */
interface Events {
  /** The events' type; without it they have none. */
  type?: string;
  /** The description of the events' ids, if they have them. */
  id?: string;
  /** The data of the last event, which is not JSON. */
  end?: string;
}

/** Bodies of submissions, generated from the catalog. */
type BodyName = "ChatRequest" | "ImageRequest" | "VideoRequest" | "RemixRequest" | "TaskRequest" | "EstimateRequest";

export interface Answer {
  description: string;
  /** Headers in addition to those of every answer. */
  headers?: HeaderName[];
  /** By media type; without it the answer has no body. */
  content?: Record<string, Media>;
}

/** An error code with its HTTP status on this path, if that differs from the code's default. */
export type Failure = ErrorCode | { code: ErrorCode; status: number };

/** The errors of everything that names a model and has a price. */
export const ofPrice: Failure[] = [
  "model_not_found",
  "model_not_available",
  "unsupported_parameter",
  "cost_limit_exceeded",
  "insufficient_quota",
  "budget_exceeded",
];

export interface Operation {
  /** `operationId`: a suitable method name. */
  id: string;
  tag: Tag;
  /** A few words, without a full stop. */
  summary: string;
  description?: string;
  /** The required authentication; defaults to an API key. `token` is a key or a client token. */
  security?: "key" | "token" | "admin" | "none";
  /** A zod object of the query's parameters. */
  query?: z.ZodMiniObject;
  headers?: HeaderParameter[];
  /** `none` is an endpoint that needs no body and accepts an empty object. */
  body?: Media | "none";
  /** True if the body is a file: a multipart form, or its bytes. */
  upload?: true;
  /** By HTTP status. */
  answers: Record<number, Answer>;
  /** Errors in addition to those that follow from `security`, `query` and `body`. */
  errors?: Failure[];
  /** The violation in the example of `invalid_request`. */
  violation?: Violation;
}

/** By method and path: `GET /v1/tasks/{task_id}`. */
export type Operations = Record<string, Operation>;

/** An operation among others of the same tag, unless it has its own. */
export type Untagged = Omit<Operation, "tag"> & Partial<Pick<Operation, "tag">>;

/** Operations with the tag that they share. */
export const tagged = (tag: Tag, operations: Record<string, Untagged>): Operations =>
  Object.fromEntries(Object.entries(operations).map(([name, operation]) => [name, { tag, ...operation }]));

/** Operations of the admin API. */
export const operators = (operations: Record<string, Omit<Untagged, "security">>): Operations =>
  tagged("admin", Object.fromEntries(Object.entries(operations).map(([name, operation]) => [name, { ...operation, security: "admin" }])));

/** A JSON answer or body. */
export const json = (schema: NonNullable<Media["schema"]>, examples: Examples): Record<"application/json", Media> => ({
  "application/json": { schema, examples },
});

/** An answer with a JSON body; `headers` are those in addition to the ones of every answer. */
export const answer = (description: string, schema: NonNullable<Media["schema"]>, examples: Examples, headers?: HeaderName[]): Answer => ({
  description,
  ...(headers && { headers }),
  content: json(schema, examples),
});

/** The answer to a request whose `If-None-Match` is right. */
export const notModified = (...more: HeaderName[]): Answer => ({
  description: "Nothing has changed since the answer with this `ETag`.",
  headers: ["etag", "cache-control", ...more],
});
