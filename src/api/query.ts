/** Query parameters: validation, and the kinds of parameters that several paths share. */

import { zValidator } from "@hono/zod-validator";
import * as z from "zod/mini";
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

/** The same for one value, where a middleware would be too expensive for frequent requests. */
export function parseParameter<T extends z.ZodMiniType>(name: string, schema: T, text: string): z.output<T> {
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  throw new ApiError("invalid_request", {
    violations: toViolations(result.error, text).map((violation) => ({ ...violation, param: name })),
  });
}

/** A whole number in this range. */
const wholeNumber = (minimum: number, maximum: number) =>
  z.pipe(
    z.string().check(
      z.refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum, {
        params: { rule: "not_one_of", values: { allowed: `${minimum}-${maximum}` }, allowed: { minimum, maximum } },
      }),
    ),
    z.transform(Number),
  );

/** `wait`: the maximum seconds to hold an answer. */
export const waitField = wholeNumber(1, 60);

/** Parameters of submissions and chats; `isDryRun` reads it before the request is counted. */
export const dryRunQuery = query(z.object({ dry_run: z.optional(z.enum(["true", "false"])) }));

/** The parameters of every list: `limit` (1 to 100, default 20) and `after`, the id of a row. */
export const pageFields = { limit: z._default(wholeNumber(1, 100), 20), after: z.optional(z.string()) };
