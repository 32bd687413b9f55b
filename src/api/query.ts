/** Validates query parameters; the parameters of each path are defined in `schema/queries.ts`. */

import type * as z from "zod/mini";
import { toViolations } from "../catalog/parse.ts";
import { ApiError } from "../errors.ts";
import type { AppContext } from "./frame.ts";

/** The parameters of a request's query, checked; unknown ones are ignored. A repeated one is a list. Throws 400. */
export function readQuery<T extends z.ZodMiniType>(c: AppContext, schema: () => T): z.output<T> {
  const query = Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
  const result = schema().safeParse(query);
  if (result.success) return result.data;
  throw new ApiError("invalid_request", { violations: toViolations(result.error, query) });
}

/** The same for one value. */
export function parseParameter<T extends z.ZodMiniType>(name: string, schema: T, text: string): z.output<T> {
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  throw new ApiError("invalid_request", {
    violations: toViolations(result.error, text).map((violation) => ({ ...violation, param: name })),
  });
}
