/** Thumbnails of outputs: made when one is first shown, and stored under the same prefix as the file, so that deleting the file's prefix deletes its thumbnail. */

import type { ConsoleContext } from "../context.ts";
import type { Context } from "hono";
import { isSignedBy, signedUrl } from "../../signing/asset-urls.ts";
import { describeAsset, openAsset, removeAssets, storeBytes } from "../../storage/assets.ts";
import { alert } from "../../base/log.ts";
import { detectImageType } from "../../media/image-type.ts";
import { cutStill } from "../../media/still.ts";
import { readAll } from "../../net/bounded-body.ts";
import { nothingHere } from "../frame.tsx";
import { readRecord } from "./answers.ts";

/** The sizes: of tiles, and of the playground's strip, which shows many at once. The widths are tried in this order until the file is small enough: noisy images need many bytes. */
const sizes = {
  tile: { maxBytes: 40_000, widths: [480, 360, 240, 120] },
  strip: { maxBytes: 8_000, widths: [160, 120, 80, 48] },
};
export type ThumbnailSize = keyof typeof sizes;
const stripEnd = ".strip";
const stillAtSeconds = 1;

const thumbnailKey = (key: string) => `${key}.thumbnail`;
/** Signatures of thumbnails are valid for thumbnails only. */
const thumbnailSecret = ({ AUTH_SECRET }: ConsoleEnv) => `thumbnails ${AUTH_SECRET}`;

interface Bytes {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
}

/** The stored file for a URL in an answer of the API; undefined for other URLs. */
function fileBehind(url: string): { key: string; digest: string; expiresAt: number } | undefined {
  const { pathname, searchParams } = new URL(url);
  const key = /assets\/task_[\w-]+\/[\w.-]+$/.exec(pathname)?.[0];
  return key === undefined
    ? undefined
    : { key, digest: searchParams.get("digest") ?? "", expiresAt: 1000 * Number(searchParams.get("expires")) };
}

/** The path of the thumbnail of the file behind a signed URL; undefined if it has none and only a browser can make one. It ends with the file. */
export async function thumbnailPath(env: ConsoleEnv, url: string, size: ThumbnailSize = "tile"): Promise<string | undefined> {
  const file = fileBehind(url);
  if (!file) return undefined;
  const isMade =
    !file.key.endsWith(".mp4") || env.MEDIA !== undefined || (await describeAsset(env.ASSETS, thumbnailKey(file.key))) !== null;
  const key = size === "strip" ? `${file.key}${stripEnd}` : file.key;
  return isMade ? signedUrl("/console/thumbnails", thumbnailSecret(env), { ...file, key }, file.expiresAt) : undefined;
}

/** `GET /console/thumbnails/{key}`: the signed URL contains everything that it needs, because a page requests two dozen. */
export async function serveThumbnail(c: Context<{ Bindings: ConsoleEnv }>): Promise<Response> {
  const signed = c.req.path.slice("/console/thumbnails/".length);
  const { expires = "", digest = "", signature = "" } = c.req.query();
  if (!(await isSignedBy(thumbnailSecret(c.env), signed, Number(expires), digest, signature))) return c.body(null, 403);
  const size = signed.endsWith(stripEnd) ? "strip" : "tile";
  const key = size === "strip" ? signed.slice(0, -stripEnd.length) : signed;
  const seconds = Math.floor(Number(expires) - Date.now() / 1000);
  if (seconds <= 0) return c.body(null, 410);
  const stored = await openAsset(c.env.ASSETS, thumbnailKey(signed));
  const headers = { "cache-control": `private, max-age=${seconds}, immutable` };
  if (stored) return c.body(stored.body, 200, { ...headers, "content-type": stored.httpMetadata?.contentType ?? "image/webp" });
  // A small one is made of the large one, if that exists: a browser drew it, or it is quicker to read.
  const large = size === "strip" ? await openAsset(c.env.ASSETS, thumbnailKey(key)) : null;
  const source = large ?? (await openAsset(c.env.ASSETS, key));
  if (!source) return c.body(null, 404);
  const sourceKey = large ? thumbnailKey(key) : key;
  const type = source.httpMetadata?.contentType ?? "";
  if (type.startsWith("image/") && source.size <= sizes[size].maxBytes)
    return c.body(source.body, 200, { ...headers, "content-type": type });
  await source.body.cancel();
  const made = await make(c.env, sourceKey, type, size);
  if (made) {
    await store(c.env.ASSETS, key, signed, made);
    return c.body(made.bytes, 200, { ...headers, "content-type": made.type });
  }
  // A large image is better than none; the next view tries again.
  const whole = type.startsWith("image/") ? await openAsset(c.env.ASSETS, sourceKey) : null;
  return whole ? c.body(whole.body, 200, { "content-type": type, "cache-control": "no-store" }) : c.body(null, 404);
}

/** Makes the thumbnail of a stored file; undefined if no binding can. */
async function make(
  { ASSETS: bucket, IMAGES: images, MEDIA: media }: ConsoleEnv,
  key: string,
  type: string,
  size: ThumbnailSize,
): Promise<Bytes | undefined> {
  const isVideo = type.startsWith("video/");
  if (!images || (isVideo && !media)) return undefined;
  try {
    const video = isVideo ? await openAsset(bucket, key) : null;
    const still = video && media && (await cutStill(media, video.body, stillAtSeconds));
    for (const width of sizes[size].widths) {
      const image = still ? new Blob([still]).stream() : (await openAsset(bucket, key))?.body;
      if (!image) return undefined;
      const result = await images.input(image).transform({ width, fit: "scale-down" }).output({ format: "image/webp", quality: 75 });
      const bytes = new Uint8Array(await result.response().arrayBuffer());
      if (bytes.byteLength <= sizes[size].maxBytes) return { bytes, type: "image/webp" };
    }
  } catch (error) {
    alert("thumbnail", { outcome: "not_made", type }, error);
  }
  return undefined;
}

/** Stores a thumbnail of the file `key` under `name`, unless the file was deleted in the meantime: nothing would delete the thumbnail then. */
async function store(bucket: R2Bucket, key: string, name: string, { bytes, type }: Bytes): Promise<void> {
  await storeBytes(bucket, thumbnailKey(name), bytes, type);
  if (!(await describeAsset(bucket, key))) await removeAssets(bucket, [thumbnailKey(name)]);
}

/** `POST /console/tasks/{id}/thumbnail`: a frame of the task's video, drawn by its owner's browser. Only the first one is stored. Answers its path. */
export async function keepThumbnail(c: ConsoleContext): Promise<Response> {
  const task = await readRecord(c, c.req.param("id") ?? "");
  if (!task || task.result?.kind !== "video" || (task.expiresAt ?? 0) <= Date.now()) return nothingHere(c);
  const { video } = task.result;
  const bytes = c.req.raw.body ? await readAll(c.req.raw.body, sizes.tile.maxBytes).catch(() => undefined) : undefined;
  const type = bytes && detectImageType(bytes);
  if (!bytes || !type) return c.body(null, 400);
  if (!(await describeAsset(c.env.ASSETS, thumbnailKey(video.key))))
    await store(c.env.ASSETS, video.key, video.key, { bytes: new Uint8Array(bytes), type });
  return c.text(await signedUrl("/console/thumbnails", thumbnailSecret(c.env), video, task.expiresAt ?? 0));
}
