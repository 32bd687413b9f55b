/** Tries a destination: writes, reads and deletes a small object. */

import { sha256Hex } from "../../base/ids.ts";
import type { DestinationRow } from "../../db/account-changes.ts";
import { toFault } from "./deliver.ts";
import type { BucketAnswer, BucketRequest } from "../../net/put-public.ts";
import type { UrlRules } from "../../net/public-url.ts";
import { askS3, readErrorCode } from "../../net/s3.ts";
import type { DeliveryFault } from "../record.ts";

/** The time limit for each of the three requests. */
const requestMs = 10_000;

/** The outcome of one request: its duration in milliseconds, and the answer's status, or why there is none. */
interface TriedRequest {
  ms: number;
  status?: number;
  /** The error code in the bucket's answer. */
  code?: string;
  /** `changed`: it was read with other bytes. */
  fault?: DeliveryFault;
}

/** Each request that was made. The object is only read if it was written, and deleted whenever it may have been written. */
export interface Tried {
  write: TriedRequest;
  read?: TriedRequest;
  delete?: TriedRequest;
}

/** Tries a destination with an object of the name `id` under its prefix. Never throws: every fault of the bucket is part of the outcome. */
export async function tryDestination(destination: DestinationRow, id: string, rules: UrlRules): Promise<Tried> {
  const { secret, prefix, ...bucket } = destination;
  const text = `A test of the destination ${destination.name}: ${id}\n`;
  const bytes = new TextEncoder().encode(text);
  const sha256 = await sha256Hex(text);
  const ask = async (method: BucketRequest["method"], more: Partial<Parameters<typeof askS3>[2]> = {}) => {
    const at = Date.now();
    const request = { ...rules, method, headers: {}, timeoutMs: requestMs, ...more };
    const outcome = await askS3({ ...bucket, secretAccessKey: secret }, `${prefix}${id}.txt`, request).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ fault: toFault(error) }),
    );
    return { ...outcome, ms: Date.now() - at };
  };
  const written = await ask("PUT", {
    headers: { "content-type": "text/plain" },
    file: { pieces: once(bytes), bytes: bytes.byteLength },
    sha256,
  });
  if ("answer" in written && !isGood(written.answer)) return { write: toTried(written) };
  const read = "answer" in written ? await ask("GET") : undefined;
  const isSame = read === undefined || "fault" in read || !isGood(read.answer) || read.answer.text === text;
  return {
    write: toTried(written),
    ...(read && { read: { ...toTried(read), ...(!isSame && { fault: "changed" as const }) } }),
    delete: toTried(await ask("DELETE")),
  };
}

/** True if the request had its effect. */
export const isGood = ({ status = 0, fault }: { status?: number; fault?: unknown }): boolean => status >= 200 && status < 300 && !fault;

function toTried(outcome: { ms: number } & ({ answer: BucketAnswer } | { fault: DeliveryFault })): TriedRequest {
  if ("fault" in outcome) return outcome;
  const code = readErrorCode(outcome.answer);
  return { ms: outcome.ms, status: outcome.answer.status, ...(code !== undefined && { code }) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}
