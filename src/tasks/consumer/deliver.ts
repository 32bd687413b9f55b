/** Delivers the files of a completed task to its caller's bucket: one attempt, which owns no state and may crash at any point. */

import { hexDigest } from "../../base/file-id.ts";
import { logFields } from "../log-fields.ts";
import type { CompletedTask, DeliveredFile, DeliveryFault, DeliveryReport } from "../record.ts";
import { attemptMs, filesLeft } from "../transitions/delivery.ts";
import { alert } from "../../base/log.ts";
import { urlRules } from "../../config.ts";
import { openDestination } from "../../db/destinations.ts";
import { NetError } from "../../net/net-error.ts";
import { askBucket, type BucketAnswer, type BucketRequest } from "../../net/put-public.ts";
import { askS3, readErrorCode, readSha256, type S3Bucket, toObjectUrl } from "../../net/s3.ts";
import { openSealed } from "../../signing/sealing.ts";
import type { Asset } from "../../storage/assets.ts";
import { FileChangedError, readVerified } from "../../storage/verified-file.ts";
import { logStep } from "../../step-log.ts";

/** Where the files of one attempt go. */
type Target = { url: string } | { bucket: S3Bucket; prefix: string };

/** An attempt has failed, which is part of its report. */
class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  readonly outcome: { status?: number; fault?: DeliveryFault; code?: string; isLast?: boolean };

  constructor(outcome: DeliveryError["outcome"]) {
    super("not delivered");
    this.outcome = outcome;
  }
}

/** Delivers the files that are left, one after the other. Never throws: every fault is part of the report. */
export async function deliverFiles(task: CompletedTask, env: Env): Promise<DeliveryReport> {
  const at = Date.now();
  const files: DeliveredFile[] = [];
  const end = (report: DeliveryReport, outcome: string | number): DeliveryReport => {
    logStep(env, "deliver", { ...logFields(task), attempt: (task.delivery?.failures ?? 0) + 1, outcome: String(outcome) });
    return report;
  };
  try {
    const target = await findTarget(task, env);
    const until = at + attemptMs(task, at);
    let status = 200;
    for (const { name, asset } of filesLeft(task)) {
      const sent = await deliverFile(task, target, name, asset, until, env);
      status = sent.status;
      files.push(sent.file);
    }
    return end({ outcome: "attempted", files, at, ms: Date.now() - at, status }, "delivered");
  } catch (error) {
    const ms = Date.now() - at;
    if (error instanceof DeliveryError) {
      const { fault, status } = error.outcome;
      return end({ outcome: "attempted", files, at, ms, ...error.outcome }, fault ?? status ?? "failed");
    }
    if (error instanceof NetError) return end({ outcome: "attempted", files, at, ms, fault: toFault(error) }, error.reason);
    // Our own file is not the one in the record.
    const isChanged = error instanceof FileChangedError;
    alert("deliver", { ...logFields(task), outcome: isChanged ? "changed" : "postponed" }, error);
    return isChanged
      ? end({ outcome: "attempted", files, at, ms, fault: "changed" }, "changed")
      : end({ outcome: "postponed", files }, "postponed");
  }
}

/** The fault of a request; throws other errors. */
export function toFault(error: unknown): DeliveryFault {
  if (!(error instanceof NetError)) throw error;
  const { reason } = error;
  return reason === "timeout" || reason === "blocked_url" || reason === "interrupted" ? reason : "unreachable";
}

/** The target as it is now: a destination may have been replaced since the submission. */
async function findTarget({ submission }: CompletedTask, env: Env): Promise<Target> {
  const { deliverTo, accountId } = submission;
  if (deliverTo?.url !== undefined) return { url: await openSealed(env, accountId, deliverTo.url) };
  const found = deliverTo && (await openDestination(env, accountId, deliverTo.destination));
  if (!found) throw new DeliveryError({ fault: "no_destination" });
  const { secret, ...bucket } = found;
  return { bucket: { ...bucket, secretAccessKey: secret }, prefix: found.prefix + (deliverTo.prefix ?? "") };
}

/** Sends one file. Throws unless the far end has it, and has these bytes as far as it can say. */
async function deliverFile(
  task: CompletedTask,
  target: Target,
  name: string,
  asset: Asset,
  until: number,
  env: Env,
): Promise<{ status: number; file: DeliveredFile }> {
  const sha256 = hexDigest(asset.digest);
  const rules = urlRules(env, task.submission.host);
  const request = (method: BucketRequest["method"]): BucketRequest => ({ ...rules, method, headers: {}, timeoutMs: until - Date.now() });
  const put = (): BucketRequest => ({
    ...request("PUT"),
    headers: { "content-type": asset.type },
    file: { pieces: readVerified(env.ASSETS, asset), bytes: asset.bytes },
  });
  if ("url" in target) {
    const answer = await askBucket(target.url, put());
    // A presigned URL cannot be repaired: it has expired, or is not for this file.
    requireAccepted(answer, sha256, /^4(?!08|29)/.test(String(answer.status)));
    const { origin, pathname } = new URL(target.url);
    return { status: answer.status, file: { name, url: origin + pathname, sha256 } };
  }
  const { bucket, prefix } = target;
  const key = `${prefix}${task.id}/${name}`;
  const answer = await askS3(bucket, key, { ...put(), sha256 });
  requireAccepted(answer, sha256);
  if (readSha256(answer) === undefined) requireStored(await askS3(bucket, key, request("HEAD")), asset.bytes, sha256);
  return { status: answer.status, file: { name, url: toObjectUrl(bucket, key), sha256 } };
}

/** Throws unless the file was accepted, and with this digest if the bucket says one. */
function requireAccepted(answer: BucketAnswer, sha256: string, isLast = false): void {
  const { status } = answer;
  const code = readErrorCode(answer);
  if (status < 200 || status > 299) throw new DeliveryError({ status, ...(code !== undefined && { code }), ...(isLast && { isLast }) });
  if ((readSha256(answer) ?? sha256) !== sha256) throw new DeliveryError({ status, fault: "changed" });
}

/** Throws if the bucket says that it has no such file, or other bytes. Keys that may only write get 403 here: then the bucket has verified the signed digest, or says nothing. */
function requireStored(answer: BucketAnswer, bytes: number, sha256: string): void {
  const { status, headers } = answer;
  if (status === 404) throw new DeliveryError({ status, fault: "changed" });
  if (status !== 200) return;
  const length = headers.get("content-length");
  const hasOtherLength = length !== null && headers.get("content-encoding") === null && Number(length) !== bytes;
  if (hasOtherLength || (readSha256(answer) ?? sha256) !== sha256) throw new DeliveryError({ status, fault: "changed" });
}
