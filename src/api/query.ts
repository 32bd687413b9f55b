/** Validates query parameters; the parameters of each path are defined in `schema/queries.ts`. */

import { zValidator } from "@hono/zod-validator";
import type { Context } from "hono";
import type * as z from "zod/mini";
import { toViolations } from "../catalog/parse.ts";
import { ApiError } from "../errors.ts";
import type { AppContext } from "./frame.ts";

function refuse(error: z.core.$ZodError, query: unknown): never {
  throw new ApiError("invalid_request", { violations: toViolations(error, query) });
}

type Validator = ReturnType<typeof zValidator>;

/** The validators that were made, by the function that builds their schema: made with the routes, they would build it at every start of the Worker. */
const validators = new WeakMap<() => z.ZodMiniType, Validator>();

function validatorFor(schema: () => z.ZodMiniType): Validator {
  let validator = validators.get(schema);
  if (!validator)
    validators.set(
      schema,
      (validator = zValidator("query", schema(), (result) => (result.success ? undefined : refuse(result.error, result.data)))),
    );
  return validator;
}

/** The parameters of a request's query, checked; unknown ones are ignored. Throws 400. */
export async function readQuery<T extends z.ZodMiniType>(c: AppContext, schema: () => T): Promise<z.output<T>> {
  await validatorFor(schema)(c as Context, async () => undefined);
  return c.req.valid("query" as never);
}

/** The same for one value. */
export function parseParameter<T extends z.ZodMiniType>(name: string, schema: T, text: string): z.output<T> {
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  throw new ApiError("invalid_request", {
    violations: toViolations(result.error, text).map((violation) => ({ ...violation, param: name })),
  });
}
