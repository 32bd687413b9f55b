/** Schemas of each path's query: handlers validate requests with them, and the API description is generated from them. */

import * as z from "zod/mini";
import { modelNames } from "../../catalog/models.ts";
import { once } from "../../catalog/once.ts";
import { referenceField } from "./bodies.ts";
import { taskKinds, taskStatuses } from "./words.ts";

/** A whole number in this range. */
const wholeNumber = (minimum: number, maximum: number) =>
  z.pipe(
    z.string().check(
      z.refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum, {
        params: { rule: "out_of_range", values: { minimum, maximum }, allowed: { minimum, maximum } },
      }),
      z.meta({ type: "integer", minimum, maximum }),
    ),
    z.transform(Number),
  );

/** `wait`: the maximum seconds until the answer. */
export const waitField = once(() => wholeNumber(1, 60));

/** The parameters of every list: 1 to 100 rows, 20 by default, after the row with this id. */
const pageFields = () => ({ limit: z._default(wholeNumber(1, 100), 20), after: z.optional(z.string()) });

export const pageQuery = once(() => z.object(pageFields()));
export const statusQuery = once(() => z.object({ wait: z.optional(waitField()) }));
/** Parameters of submissions and chats; `isDryRun` reads the same parameter before the request counts against the rate limit. */
export const submissionQuery = once(() => z.object({ dry_run: z.optional(z.enum(["true", "false"])) }));

export const tasksQuery = once(() =>
  z.object({
    ...pageFields(),
    status: z.optional(z.enum(taskStatuses)),
    kind: z.optional(z.enum(taskKinds)),
    model: z.optional(z.enum(modelNames)),
    reference: z.optional(referenceField()),
  }),
);

export const eventsQuery = once(() => z.object({ ...pageFields(), wait: z.optional(waitField()) }));

export const accountsQuery = once(() => z.object({ ...pageFields(), email: z.optional(z.string()) }));
/** Audits only this account. */
export const auditQuery = once(() => z.object({ account: z.optional(z.string()) }));

/** Reconciles only this account, or continues after a place from an earlier answer. */
export const reconcileQuery = once(() => z.object({ account: z.optional(z.string()), after: z.optional(z.string()) }));

/** A day in UTC, as its first millisecond. */
const day = () =>
  z.pipe(
    z.string().check(
      z.refine((text) => toDay(text) !== undefined, { params: { rule: "bad_date" } }),
      z.meta({ format: "date" }),
    ),
    z.transform((text) => toDay(text)!),
  );
export const usageQuery = once(() =>
  z.object({
    from: z.optional(day()),
    to: z.optional(day()),
    group_by: z._default(z.enum(["day", "model", "key", "reference"]), "day"),
    format: z._default(z.enum(["json", "focus"]), "json"),
  }),
);

function toDay(text: string): number | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // `Date` parses 31 February as a day of March.
  return Number.isNaN(at) || toDate(at) !== text ? undefined : at;
}

/** A time as `YYYY-MM-DD`. */
export const toDate = (at: number) => new Date(at).toISOString().slice(0, 10);
