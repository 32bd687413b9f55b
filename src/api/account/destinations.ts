/** `/v1/destinations`: the account's buckets, to which the files of tasks are delivered. */

import { type AppContext, hostName } from "../request/context.ts";
import { urlRules } from "../../config.ts";
import { ApiError } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import { toSeconds } from "../../base/times.ts";
import {
  deleteDestination,
  type Destination,
  findDestination,
  listDestinations,
  openDestination,
  setDestination,
} from "../../db/destinations.ts";
import { Objects } from "../../rpc/objects.ts";
import { isGood, tryDestination } from "../../tasks/consumer/try-destination.ts";
import { actor } from "../request/actor.ts";
import { answer, respond } from "../request/answer.ts";
import { readFields, readNoBody } from "../request/body.ts";
import { toList } from "../request/query.ts";
import { readReceiverUrl } from "../request/references.ts";
import { destinationChange, destinationName } from "../schema/bodies.ts";

const view = ({ name, kind, endpoint, bucket, region, accessKeyId, prefix, createdAt, changedAt }: Destination) => ({
  object: "destination",
  name,
  kind,
  endpoint,
  bucket,
  region,
  access_key_id: accessKeyId,
  ...(prefix !== "" && { prefix }),
  created_at: toSeconds(createdAt),
  changed_at: toSeconds(changedAt),
});

const callerAccount = (c: AppContext) => c.get("caller").accountId;
const isName = (name: string) => destinationName().safeParse(name).success;

export async function showDestinations(c: AppContext): Promise<Response> {
  return answer(c, toList((await listDestinations(c.env.DB, callerAccount(c))).map(view), false));
}

export async function showDestination(c: AppContext, name: string): Promise<Response> {
  const found = isName(name) ? await findDestination(c.env.DB, callerAccount(c), name) : undefined;
  if (!found) throw new ApiError("destination_not_found");
  return answer(c, view(found));
}

/** Creates or replaces a destination. The secret is required each time, so that a stored secret is never sent to a new endpoint. */
export async function putDestination(c: AppContext, name: string): Promise<Response> {
  const check = ({ endpoint: text }: Record<string, unknown>) => {
    const { url, violations } = readReceiverUrl("endpoint", text, urlRules(c.env, hostName(c)));
    return [
      ...(isName(name) ? [] : [{ param: "name", rule: "bad_destination_name" }]),
      ...violations,
      ...(url === undefined || url === `${new URL(url).origin}/` ? [] : [{ param: "endpoint", rule: "bad_endpoint" }]),
    ];
  };
  const fields = await readFields(c, destinationChange, { check });
  const { access_key_id: accessKeyId, secret_access_key: secret, prefix = "", ...others } = fields;
  const given = { ...others, name, endpoint: new URL(fields.endpoint).origin, accessKeyId, secret, prefix };
  const set = await setDestination(c.env, new Objects(c.env), actor(c), callerAccount(c), given, Date.now());
  if (!set) throw new ApiError("too_many_destinations");
  return answer(c, view(set));
}

export async function removeDestination(c: AppContext, name: string): Promise<Response> {
  if (!isName(name) || !(await deleteDestination(c.env, new Objects(c.env), actor(c), callerAccount(c), name)))
    throw new ApiError("destination_not_found");
  return respond(c, null, 204);
}

/** Writes, reads and deletes a small object there, and answers with the outcome of each. */
export async function testDestination(c: AppContext, name: string): Promise<Response> {
  await readNoBody(c);
  const found = isName(name) ? await openDestination(c.env, callerAccount(c), name) : undefined;
  if (!found) throw new ApiError("destination_not_found");
  const tried = await tryDestination(found, newId("gateway-test-"), urlRules(c.env, hostName(c)));
  const ok = isGood(tried.write) && isGood(tried.read ?? {}) && isGood(tried.delete ?? {});
  return answer(c, { object: "destination.test", name, ok, ...tried });
}
