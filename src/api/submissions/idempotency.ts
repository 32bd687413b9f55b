/** `Idempotency-Key` of submissions: comparing bodies, and finding the task of an earlier request. */

import { ApiError } from "../../base/errors.ts";
import { type Caller, isOthers } from "../../db/callers.ts";
import { sha256Hex, toObjectId } from "../../base/ids.ts";
import { retryRestart } from "../../base/retry.ts";
import { fileDigest, hexDigest } from "../../base/file-id.ts";
import type { LargeBody } from "../request/large-body.ts";
import { checkKey } from "../request/options.ts";
import { decodeImage } from "../../media/base64-image.ts";
import { canonicalJson } from "../../media/canonical-json.ts";
import { maxImageBytes } from "../../catalog/fields.ts";
import type { Task } from "../../tasks/record.ts";
import type { SubmissionRequest } from "./submission.ts";

/** An idempotency key in use: the name of its object, and the identity of the request that it was sent with. */
export interface Claim {
  name: string;
  fingerprint: string;
}

/** The claim of a request, or undefined without a key. Throws what `checkKey` throws. */
export async function toClaim({
  idempotencyKey: key,
  caller: { accountId, token },
  path,
  read,
}: Pick<SubmissionRequest, "idempotencyKey" | "caller" | "path" | "read">): Promise<Claim | undefined> {
  if (key === undefined) return undefined;
  checkKey(key);
  // A client token has separate idempotency keys: those of its account could refer to tasks that it may not see.
  return { name: await toClaimName(accountId, key, token?.id), fingerprint: await fingerprint(path, read) };
}

/** The name of the object of an account's idempotency key: one for submissions and batches. */
export const toClaimName = (accountId: string, key: string, tokenId?: string): Promise<string> =>
  sha256Hex([accountId, ...(tokenId === undefined ? [] : [tokenId]), key].join("\n"));

/** The task that the key was used for, or undefined if it was not. Throws if it was used for another request, or for a task that the member may not see. */
export async function findReplay({ CLAIMS, TASKS }: Env, claim: Claim, caller: Caller): Promise<Task | undefined> {
  const earlier = await retryRestart("claim", claim.name, async () => CLAIMS.getByName(claim.name).find(claim.fingerprint));
  if (earlier === "conflict") throw new ApiError("idempotency_conflict");
  const id = earlier && toObjectId(TASKS, earlier.taskId);
  const task = (id && (await retryRestart("read", earlier.taskId, async () => TASKS.get(id).read(caller.accountId)))) ?? undefined;
  if (task && isOthers(caller, task.submission.keyId)) throw new ApiError("idempotency_conflict");
  return task;
}

/**
 * The identity of a request: its path and its body with sorted fields. Images count by the digest of their bytes, whether or not they were
 * extracted while the body was read, because that depends on how the body was sent; so do files.
 */
async function fingerprint(path: string, { body, images }: LargeBody): Promise<string> {
  const identify = async (value: unknown): Promise<unknown> => {
    if (typeof value !== "string" || /^\s*https?:/i.test(value)) return value;
    const extracted = images.get(value);
    if (extracted) return "problem" in extracted ? extracted.problem : toHash(extracted);
    const image = decodeImage(value, { allowBare: true, maxBytes: maxImageBytes });
    return "problem" in image ? value : sha256Hex(image.bytes);
  };
  const named = withDigests(body) as typeof body;
  const { images: list, image_with_roles: roles } = named;
  const identified = {
    ...named,
    ...(isShort(list) && { images: await Promise.all(list.map(identify)) }),
    ...(isShort(roles) && {
      image_with_roles: await Promise.all(
        roles.map(async (item: unknown) =>
          typeof item === "object" && item !== null && "url" in item ? { ...item, url: await identify(item.url) } : item,
        ),
      ),
    }),
  };
  return sha256Hex(`${path}\n${canonicalJson(identified)}`);
}

/** A value with digests in place of the ids of files: a restarted program uploads the same bytes again, under another id. */
export function withDigests(value: unknown): unknown {
  if (typeof value === "string") {
    const digest = fileDigest(value.trim());
    return digest === undefined ? value : hexDigest(digest);
  }
  if (Array.isArray(value)) return value.map(withDigests);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withDigests(field)]));
}

/** Images are hashed while they are read only if the request has an idempotency key. */
function toHash({ sha256 }: { sha256: string | undefined }): string {
  if (sha256 === undefined) throw new Error("an image of the body was not hashed");
  return sha256;
}

/** A longer list of images is refused anyway, so it needs no digests. */
const isShort = (list: unknown): list is unknown[] => Array.isArray(list) && list.length <= 16;
