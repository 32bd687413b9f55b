/** How a path of the API is written down: one definition for each operation, from which `document.ts` makes the description. */

import type * as z from "zod/mini";
import type { ErrorCode, Violation } from "../../src/errors.ts";
import type { HeaderName } from "./headers.ts";
import type { HeaderParameter } from "./parameters.ts";
import type { Tag } from "./tags.ts";

/** A named example: its value as it is sent, and what it shows. */
export type Examples = Record<string, unknown>;

/** One media type of a body. */
export interface Media {
  /** A zod schema that `schemas.ts` names, one of several, or the name of a submission's body. Without one it is bytes or text. */
  schema?: z.ZodMiniType | z.ZodMiniType[] | BodyName;
  examples?: Examples;
}

/** Bodies of submissions, made from the catalog. */
export type BodyName = "ChatRequest" | "ImageRequest" | "VideoRequest" | "RemixRequest";

export interface Answer {
  description: string;
  /** Beside those that every answer has. */
  headers?: HeaderName[];
  /** By media type; without it the answer has no body. */
  content?: Record<string, Media>;
}

/** An error code with the HTTP status that it has here, where that is not the code's own. */
export type Failure = ErrorCode | { code: ErrorCode; status: number };

export interface Operation {
  /** `operationId`: a good name for a method. */
  id: string;
  tag: Tag;
  /** A few words, without a full stop. */
  summary: string;
  description?: string;
  /** The required authentication; defaults to an API key. `token` is a key or a token for browsers. */
  security?: "key" | "token" | "admin" | "none";
  /** A zod object of the query's parameters. */
  query?: z.ZodMiniObject;
  headers?: HeaderParameter[];
  /** `none` is an endpoint that needs no body, and takes an empty object. */
  body?: Media | "none";
  /** By HTTP status. */
  answers: Record<number, Answer>;
  /** Beside those that follow from `security`, `query` and `body`. */
  errors?: Failure[];
  /** What the example of `invalid_request` is about. */
  violation?: Violation;
}

/** By method and path: `GET /v1/tasks/{task_id}`. */
export type Operations = Record<string, Operation>;

/** A JSON answer or body. */
export const json = (schema: z.ZodMiniType | BodyName, examples: Examples): Record<"application/json", Media> => ({
  "application/json": { schema, examples },
});
