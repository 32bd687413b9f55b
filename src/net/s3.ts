/** Requests to a caller's S3 bucket, signed by AWS Signature Version 4: Amazon S3, Cloudflare R2, MinIO, Google Cloud Storage with HMAC keys. Path style, which all of them take. */

import { AwsV4Signer } from "aws4fetch";
import { askBucket, type BucketAnswer, type BucketRequest } from "./put-public.ts";

export interface S3Bucket {
  /** The origin of the API, without a path. */
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** SHA-256 of no bytes. */
const emptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/**
 * The URL of an object, with every character escaped that signatures escape (`=` and `!` too): some servers sign the path as it arrives, others
 * escape it again.
 */
export const toObjectUrl = ({ endpoint, bucket }: Pick<S3Bucket, "endpoint" | "bucket">, key: string) =>
  `${endpoint}/${bucket}/${encodeURIComponent(key).replaceAll("%2F", "/").replaceAll("!", "%21")}`;

/**
 * Sends a signed request for an object. `sha256` (hexadecimal) is the digest of the file that is sent: the signature covers it, so a bucket that
 * verifies signatures refuses other bytes; buckets that know checksums verify and keep it too.
 * @throws NetError
 */
export async function askS3(
  bucket: S3Bucket,
  key: string,
  { sha256, headers, ...request }: BucketRequest & { sha256?: string },
): Promise<BucketAnswer> {
  const { accessKeyId, secretAccessKey, region } = bucket;
  const url = toObjectUrl(bucket, key);
  const checksum = knowsChecksums(bucket.endpoint) ? toChecksum(request.method, sha256) : {};
  const signer = new AwsV4Signer({
    method: request.method,
    url,
    headers: { ...headers, ...checksum, "x-amz-content-sha256": sha256 ?? emptySha256 },
    accessKeyId,
    secretAccessKey,
    region,
    service: "s3",
  });
  const signed = await signer.sign();
  return askBucket(url, { ...request, headers: Object.fromEntries(signed.headers) });
}

/** The headers that send the digest of a file, or ask for that of a stored one. */
function toChecksum(method: BucketRequest["method"], sha256: string | undefined): Record<string, string> {
  if (sha256 !== undefined) return { "x-amz-checksum-sha256": Uint8Array.fromHex(sha256).toBase64() };
  return method === "HEAD" ? { "x-amz-checksum-mode": "ENABLED" } : {};
}

/** Google's API has checksums of its own, and headers of another maker there are one more thing that may be refused. */
const knowsChecksums = (endpoint: string) => new URL(endpoint).hostname !== "storage.googleapis.com";

/** The error code of an answer: `AccessDenied`; undefined if it has none. */
export const readErrorCode = ({ text }: BucketAnswer): string | undefined => /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1];

/** The SHA-256 (hexadecimal) that a bucket says an object has; undefined if it says none. */
export function readSha256({ headers }: BucketAnswer): string | undefined {
  const text = headers.get("x-amz-checksum-sha256") ?? "";
  // Of an object that was sent in parts it is the digest of digests, with their number.
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? Uint8Array.fromBase64(text).toHex() : undefined;
}
