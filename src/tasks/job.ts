/** From a task's record to the job a provider is given: its inputs become things that can be opened. */

import { type Asset, openAsset } from "../assets.ts";
import { allowsPrivateNetwork, ownHosts } from "../config.ts";
import { parseTimestamps } from "../catalog/fields.ts";
import { imageTypeOf } from "../media/image-type.ts";
import { readAll } from "../net/bounded-body.ts";
import { fetchPublic, type PublicFile } from "../net/fetch-public.ts";
import { NetError } from "../net/net-error.ts";
import { InputError, type InputImage, type InputVideo, type Job, ProviderError } from "../providers/provider.ts";
import type { Input, Source, Task } from "./task.ts";

/** An image of a caller, decoded: "10MB" of the interface. */
export const maxImageBytes = 10 * 1024 * 1024;
const maxSourceBytes = 64 * 1024 * 1024;
const fetchTimeoutMs = 30_000;

/** The job for the route that is being tried. */
export function jobOf(task: Task, env: Env): Job {
  const { submission } = task;
  const { parameters: p } = submission;
  return {
    key: task.id,
    kind: submission.kind,
    model: submission.routes[task.route]!.model,
    prompt: p.prompt ?? "",
    n: p.n ?? 1,
    ...(p.size !== undefined && { size: p.size }),
    ...(p.duration !== undefined && { duration: p.duration }),
    ...(p.resolution !== undefined && { resolution: p.resolution }),
    ...(p.quality !== undefined && { quality: p.quality }),
    ...(p.style !== undefined && { style: p.style }),
    ...(p.watermark !== undefined && { watermark: p.watermark }),
    ...(p.storyboard !== undefined && { storyboard: p.storyboard }),
    ...(p.thumbnail !== undefined && { thumbnail: p.thumbnail }),
    ...(p.prompt_optimizer !== undefined && { promptOptimizer: p.prompt_optimizer }),
    ...(p.timestamps !== undefined && { range: parseTimestamps(p.timestamps)! }),
    images: submission.inputs.map((input) => imageOf(input, env)),
    ...(submission.source && { source: sourceOf(submission.source, env) }),
    // A handle means something only to the provider that gave it.
    ...(submission.source?.provider === submission.routes[task.route]!.provider && { sourceOperation: submission.source.operation! }),
    characters: submission.characters,
  };
}

function imageOf(input: Input, env: Env): InputImage {
  return {
    ...(input.role && { role: input.role }),
    ...(input.url !== undefined && { url: input.url }),
    async open() {
      const bytes =
        input.key === undefined
          ? await fetched(input.url!, env, maxImageBytes, "image/*", (file) => readAll(file.body, maxImageBytes))
          : await stored(input.key, env);
      const type = imageTypeOf(bytes);
      if (!type) throw new InputError("not a PNG, JPEG or WebP image");
      return { bytes, type };
    },
  };
}

async function stored(key: string, env: Env): Promise<Uint8Array<ArrayBuffer>> {
  const object = await openAsset(env.ASSETS, key);
  if (!object) throw new InputError("the stored input is gone");
  return new Uint8Array(await object.arrayBuffer());
}

function sourceOf(source: Source, env: Env): InputVideo {
  const { asset, url } = source;
  if (!asset) return { url: url!, open: () => fetched(url!, env, maxSourceBytes, "video/*", async (file) => file.body) };
  return { digest: asset.digest, open: () => openStoredVideo(asset, env) };
}

async function openStoredVideo(asset: Asset, env: Env): Promise<ReadableStream<Uint8Array>> {
  const object = await openAsset(env.ASSETS, asset.key);
  if (!object) throw new InputError("the source video has expired");
  return object.body;
}

/** Reads a caller's URL. A host that may answer later is a fault that may pass, everything else is the caller's mistake. */
async function fetched<T>(url: string, env: Env, maxBytes: number, accept: string, use: (file: PublicFile) => Promise<T>): Promise<T> {
  try {
    const rules = { allowPrivate: allowsPrivateNetwork(env), ownHosts: ownHosts(env) };
    return await use(await fetchPublic(url, { ...rules, timeoutMs: fetchTimeoutMs, maxBytes, accept }));
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    if (error.retryable) throw new ProviderError(`input: ${error.reason}`, { retryable: true, nothingAccepted: true, cause: error });
    throw new InputError(error.message, { cause: error });
  }
}
