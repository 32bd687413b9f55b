/** Schemas of each path's query: handlers validate requests with them, and the API description is generated from them. */

import * as z from "zod/mini";
import { once } from "../../base/once.ts";
import { acts } from "../../base/acts.ts";
import { isPriced } from "../../catalog/catalog.ts";
import { day } from "../../catalog/fields.ts";
import { referenceField } from "./bodies.ts";
import { forCatalog } from "./for-catalog.ts";
import { taskKinds, taskStatuses } from "../../base/words.ts";

const wholeNumber = (minimum: number, maximum: number) =>
  z.pipe(
    z.string().check(
      z.refine((text) => /^\d{1,10}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum, {
        params: { rule: "out_of_range", values: { minimum, maximum }, allowed: { minimum, maximum } },
      }),
      z.meta({ type: "integer", minimum, maximum }),
    ),
    z.transform(Number),
  );

/** A time in Unix seconds. */
const unixTime = () => wholeNumber(0, 9_999_999_999);

/** `wait`: the maximum seconds until the answer. */
const waitField = once(() => wholeNumber(1, 60));

/** The parameters of every list: 1 to 100 rows, 20 by default, after the row with this id. */
const pageFields = () => ({ limit: z._default(wholeNumber(1, 100), 20), after: z.optional(z.string()) });

export const pageQuery = once(() => z.object(pageFields()));
export const statusQuery = once(() => z.object({ wait: z.optional(waitField()) }));
/** `isDryRun` reads the same parameter before the request counts against the rate limit. */
const dryRunField = () => z.optional(z.enum(["true", "false"]));
/** `revision`: the one that the change is based on. */
export const modelChangeQuery = once(() => z.object({ dry_run: dryRunField(), revision: z.optional(wholeNumber(0, 999_999_999)) }));
export const chatQuery = once(() => z.object({ dry_run: dryRunField() }));
export const submissionQuery = once(() => z.object({ dry_run: dryRunField(), wait: z.optional(waitField()) }));

/** A removed model can be asked for too: its tasks are still there. */
export const tasksQuery = forCatalog(({ all, names }) =>
  z.object({
    ...pageFields(),
    status: z.optional(z.enum(taskStatuses)),
    kind: z.optional(z.enum(taskKinds)),
    model: z.optional(z.enum([...new Set([...names, ...all.filter(isPriced).map(({ id }) => id)])])),
    reference: z.optional(referenceField()),
  }),
);

export const eventsQuery = once(() => z.object({ ...pageFields(), wait: z.optional(waitField()) }));

/** Times in Unix seconds, `since` inclusive, `until` exclusive. */
export const auditLogQuery = once(() =>
  z.object({
    ...pageFields(),
    act: z.optional(z.enum(acts)),
    actor: z.optional(z.string()),
    since: z.optional(unixTime()),
    until: z.optional(unixTime()),
  }),
);

/** The log of one account; without one, what concerns no account. */
export const adminAuditLogQuery = once(() => z.extend(auditLogQuery(), { account: z.optional(z.string()) }));

/** The lifetime of a new file in seconds. */
export const fileQuery = once(() => z.object({ expires_in: z.optional(wholeNumber(3600, 604_800)) }));

export const accountsQuery = once(() => z.object({ ...pageFields(), email: z.optional(z.string()) }));
/** Codes of one series, or of all. */
export const codesQuery = once(() => z.object({ ...pageFields(), series: z.optional(z.string()) }));
/** Audits only this account. */
export const auditQuery = once(() => z.object({ account: z.optional(z.string()) }));

/** Reconciles only this account, or continues after a place from an earlier answer; with a decision about changes that a restored database lost. */
export const reconcileQuery = once(() =>
  z.object({ account: z.optional(z.string()), after: z.optional(z.string()), restored: z.optional(z.enum(["replay", "accept"])) }),
);

/** A day in UTC, as its first millisecond. */
const dayStart = () =>
  z.pipe(
    day(),
    z.transform((text) => Date.parse(text)),
  );
/** The first and the last day. */
const spanFields = () => ({ from: z.optional(dayStart()), to: z.optional(dayStart()) });

export const usageQuery = once(() =>
  z.object({
    ...spanFields(),
    group_by: z._default(z.enum(["day", "model", "key", "reference"]), "day"),
    format: z._default(z.enum(["json", "focus"]), "json"),
  }),
);

export const marginsQuery = once(() =>
  z.object({
    ...spanFields(),
    group_by: z._default(z.enum(["model", "route", "account", "day"]), "model"),
    format: z._default(z.enum(["json", "csv"]), "json"),
  }),
);
