/** How the parameters of a query are checked; what each path takes is in `schema/queries.ts`. */

import { zValidator } from "@hono/zod-validator";
import type * as z from "zod/mini";
import { toViolations } from "../catalog/parse.ts";
import { ApiError } from "../errors.ts";
import type { AppContext } from "./frame.ts";

function refuse(error: z.core.$ZodError, query: unknown): never {
  throw new ApiError("invalid_request", { violations: toViolations(error, query) });
}

/** Validates the parameters of a path's query; the handler reads them from `c.req.valid("query")`. Unknown ones are ignored. Throws 400. */
export const query = <T extends z.ZodMiniType>(schema: T) =>
  zValidator("query", schema, (result) => {
    if (!result.success) refuse(result.error, result.data);
  });

/** The same of a frequent path with optional parameters alone, without a middleware, which would be too expensive. */
export function checkQuery(c: AppContext, schema: z.ZodMiniType): void {
  if (!c.get("url").includes("?")) return;
  const sent = Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]);
  const query: unknown = Object.fromEntries(sent);
  const result = schema.safeParse(query);
  if (!result.success) refuse(result.error, query);
}

/** The same for one value, where a middleware would be too expensive for frequent requests. */
export function parseParameter<T extends z.ZodMiniType>(name: string, schema: T, text: string): z.output<T> {
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  throw new ApiError("invalid_request", {
    violations: toViolations(result.error, text).map((violation) => ({ ...violation, param: name })),
  });
}
