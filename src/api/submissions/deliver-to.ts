/** `deliver_to` of a submission: where the files of its task are delivered. */

import type { Violation } from "../../base/errors.ts";
import { findDestination, sealUrl } from "../../db/destinations.ts";
import type { DeliverTo } from "../../tasks/record.ts";
import type { Lookups } from "./lookups.ts";
import { readReceiverUrl } from "../request/references.ts";
import type { deliverTo } from "../schema/bodies.ts";
import type * as z from "zod/mini";

/** Reads the field of a body whose form is checked. A presigned URL is sealed, because whoever has it may write; a destination must exist. Adds what it looks up to `known`. */
export async function readDeliverTo(
  env: Env,
  accountId: string,
  body: Record<string, unknown>,
  rules: Parameters<typeof readReceiverUrl>[2],
  known: Lookups["destinations"] = new Map(),
): Promise<{ deliverTo?: DeliverTo; violations: Violation[] }> {
  const given = body["deliver_to"] as z.output<ReturnType<typeof deliverTo>> | undefined;
  if (given === undefined) return { violations: [] };
  const { url, destination, prefix } = given;
  if (url !== undefined) {
    const found = readReceiverUrl("deliver_to.url", url, rules);
    const violations = [...found.violations, ...(makesSeveralFiles(body) ? [{ param: "deliver_to.url", rule: "one_file_only" }] : [])];
    return found.url === undefined || violations.length > 0
      ? { violations }
      : { deliverTo: { url: await sealUrl(env, accountId, found.url) }, violations };
  }
  if (destination !== undefined && !known.has(destination))
    known.set(destination, (await findDestination(env.DB, accountId, destination)) !== undefined);
  if (destination === undefined || !known.get(destination))
    return { violations: [{ param: "deliver_to.destination", rule: "unknown_destination" }] };
  return { deliverTo: { destination, ...(prefix !== undefined && { prefix }) }, violations: [] };
}

/** True for several images, for a video with its thumbnail, and for an own input, whose number of files is not known in advance. */
function makesSeveralFiles({ n, thumbnail, metadata, input }: Record<string, unknown>): boolean {
  if (input !== undefined) return true;
  const inner = typeof metadata === "object" && metadata !== null && "thumbnail" in metadata ? metadata.thumbnail : undefined;
  return (typeof n === "number" && n > 1) || thumbnail === true || inner === true;
}
