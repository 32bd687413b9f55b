/** Validates query parameters; the parameters of each path are defined in `schema/queries.ts`. */

import { zValidator } from "@hono/zod-validator";
import type * as z from "zod/mini";
import { toViolations } from "../catalog/parse.ts";
import { ApiError } from "../errors.ts";

function refuse(error: z.core.$ZodError, query: unknown): never {
  throw new ApiError("invalid_request", { violations: toViolations(error, query) });
}

/** Validates the parameters of a path's query; the handler reads them from `c.req.valid("query")`. Unknown ones are ignored. Throws 400. */
export const query = <T extends z.ZodMiniType>(schema: T) =>
  zValidator("query", schema, (result) => {
    if (!result.success) refuse(result.error, result.data);
  });

/** The same for one value: for frequent requests, where a middleware would be too slow. */
export function parseParameter<T extends z.ZodMiniType>(name: string, schema: T, text: string): z.output<T> {
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  throw new ApiError("invalid_request", {
    violations: toViolations(result.error, text).map((violation) => ({ ...violation, param: name })),
  });
}
