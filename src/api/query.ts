/** Validates query parameters; the parameters of each path are defined in `schema/queries.ts`. */

import type * as z from "zod/mini";
import { toViolations } from "../catalog/parse.ts";
import { ApiError } from "../errors.ts";
import type { AppContext } from "./frame.ts";

/**
 * The parameters of a request's query, checked; unknown ones are ignored, and one that is repeated is a list. Throws 400. The schema is built
 * when it is called, not at the start of the Worker.
 */
export async function readQuery<T extends z.ZodMiniType>(c: AppContext, schema: () => T): Promise<z.output<T>> {
  const query = Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
  const result = await schema().safeParseAsync(query);
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
