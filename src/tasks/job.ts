/** Turns a task's record into a provider's job: its inputs become readers. */

import { type Asset, characterPicture, openAsset } from "../assets.ts";
import { allowsPrivateNetwork, ownHosts } from "../config.ts";
import { imagePixels, type ImageRole, maxImageBytes, parseTimestamps } from "../catalog/fields.ts";
import { readWhole } from "../media/large-reads.ts";
import { detectImageType } from "../media/image-type.ts";
import { readAll } from "../net/bounded-body.ts";
import { fetchPublic, type PublicFile } from "../net/fetch-public.ts";
import { NetError } from "../net/net-error.ts";
import type { UrlRules } from "../net/public-url.ts";
import { InputError, type InputImage, type InputVideo, type Job, ProviderError, type GenerationRequest } from "../providers/provider.ts";
import { Semaphore } from "../concurrency.ts";
import { resolveRoles } from "../catalog/roles.ts";
import type { Route } from "../catalog/routes.ts";
import { maxPauseMs, type StartClock } from "./start-clock.ts";
import { currentRoute, type Input, type Source, type Submission, type Task } from "./record.ts";

const maxSourceBytes = 64 * 1024 * 1024;
const fetchTimeoutMs = 30_000;

/** A job, and the error of an input that failed while the provider read it: the caller's host caused it, whatever error the provider reports. */
export interface OpenJob {
  job: Job;
  inputFault(): unknown;
}

/** The generation request for the provider of a route, before any input is opened. */
export function toRequest(
  submission: Pick<Submission, "kind" | "parameters" | "characters" | "source"> & { inputs: GenerationRequest["images"] },
  route: Route,
): GenerationRequest {
  const { kind, parameters: p, inputs, characters, source } = submission;
  const pixels = kind === "image" && p.size !== undefined ? imagePixels[p.size] : undefined;
  return {
    kind,
    model: route.model,
    prompt: p.prompt ?? "",
    n: p.n ?? 1,
    name: p.name,
    ...(p.size !== undefined && { size: p.size }),
    ...(pixels && { pixels }),
    ...(p.duration !== undefined && { duration: p.duration }),
    ...(p.resolution !== undefined && { resolution: p.resolution }),
    ...(p.quality !== undefined && { quality: p.quality }),
    ...(p.style !== undefined && { style: p.style }),
    ...(p.watermark !== undefined && { watermark: p.watermark }),
    ...(p.storyboard !== undefined && { storyboard: p.storyboard }),
    ...(p.thumbnail !== undefined && { thumbnail: p.thumbnail }),
    ...(p.prompt_optimizer !== undefined && { promptOptimizer: p.prompt_optimizer }),
    images: inputs.map(({ role, url }) => ({ role, ...(url !== undefined && { url }) })),
    characters: characters.map((character) => toCharacter(character, route)),
    ...(source?.operation !== undefined && source.provider === route.provider && { sourceOperation: source.operation }),
  };
}

/** A handle is valid only for the provider that issued it. */
const toCharacter = ({ username, displayName, provider, handle }: Submission["characters"][number], route: Route) => ({
  username,
  displayName,
  ...(handle && provider === route.provider && { handle }),
});

/** The job for the current route. Its timeout is paused while an image waits for a permit. `keep` becomes `Job.keep`. */
export function openJob(task: Task, env: Env, clock: StartClock, keep: Job["keep"]): OpenJob {
  const { submission } = task;
  const { timestamps } = submission.parameters;
  const rules = { allowPrivate: allowsPrivateNetwork(env), ownHosts: [submission.host, ...ownHosts(env)] };
  const { accountId } = submission;
  let fault: unknown;
  const note = (error: unknown) => (fault ??= error);
  // Records from before roles were resolved at submission have no roles.
  const inputs = resolveRoles(submission.kind, submission.inputs);
  const route = currentRoute(task);
  const range = timestamps === undefined ? undefined : parseTimestamps(timestamps);
  const job: Job = {
    ...toRequest({ ...submission, inputs }, route),
    // Routes may share a provider: the next route must not get the earlier route's result.
    key: task.route === 0 ? task.id : `${task.id}-${task.route}`,
    keep,
    ...(task.askedAt !== undefined && task.isUnknown && { askedAt: task.askedAt }),
    ...(range && { range }),
    images: inputs.map((input) => toInputImage(input, accountId, rules, env, clock)),
    characters: submission.characters.map((character) => ({
      ...toCharacter(character, route),
      image: toInputImage({ key: characterPicture(character.id), role: "reference" }, accountId, rules, env, clock),
    })),
    ...(submission.source && { source: toInputVideo(submission.source, rules, env, note) }),
  };
  return { job, inputFault: () => fault };
}

function toInputImage(
  { role, url, key }: Input & { role: ImageRole },
  accountId: string,
  rules: UrlRules,
  env: Env,
  clock: StartClock,
): InputImage {
  const bytes =
    key === undefined
      ? () => fetched(url, rules, maxImageBytes, "image/*", (file) => readAll(file.body, maxImageBytes))
      : () => stored(key, env);
  return {
    role,
    ...(url !== undefined && { url }),
    async read(use) {
      const release = clock.hold();
      try {
        return await turns[key === undefined ? "fetched" : "stored"].take(
          () => {
            release();
            return useImage(bytes(), use);
          },
          () => new ProviderError("busy", "too many images are being read"),
          accountId,
        );
      } finally {
        release();
      }
    },
  };
}

const permits = { maxAtOnce: 2, maxWaiting: Infinity, maxHoldMs: 120_000, maxWaitMs: maxPauseMs };

/**
 * An isolate works on many tasks and has 128 MB, so the number of images in memory is limited. Images at callers' URLs have a semaphore of
 * their own, because their hosts may be slow and must not delay stored images, and one account cannot take all of its permits.
 */
const turns = {
  stored: new Semaphore(permits),
  fetched: new Semaphore({ ...permits, maxOfOne: 1 }),
};

async function useImage<T>(
  reading: Promise<Uint8Array<ArrayBuffer>>,
  use: (image: { bytes: Uint8Array<ArrayBuffer>; type: string }) => Promise<T>,
): Promise<T> {
  const bytes = await reading;
  try {
    const type = detectImageType(bytes);
    if (!type) throw new InputError("not a PNG, JPEG or WebP image");
    return await use({ bytes, type });
  } finally {
    // Released at once: the unused buffers of several tasks could exceed the isolate's memory.
    bytes.buffer.transfer(0);
  }
}

async function stored(key: string, env: Env): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const object = await openAsset(env.ASSETS, key);
    if (object) return await readWhole(object.body, object.size);
  } catch (error) {
    throw new ProviderError("busy", "the stored input could not be read", { cause: error });
  }
  throw new InputError("the stored input is gone");
}

function toInputVideo(source: Source, rules: UrlRules, env: Env, note: (fault: unknown) => void): InputVideo {
  const { asset, url } = source;
  if (asset) return { digest: asset.digest, open: () => openStoredVideo(asset, env) };
  return { url, open: () => fetched(url, rules, maxSourceBytes, "video/*", (file) => watched(file.body, note)) };
}

async function openStoredVideo(asset: Asset, env: Env): Promise<ReadableStream<Uint8Array>> {
  const object = await openAsset(env.ASSETS, asset.key);
  if (!object) throw new InputError("the source video has expired");
  return object.body;
}

/** Passes the stream on; its error is recorded as the input's fault. */
function watched(body: ReadableStream<Uint8Array>, note: (fault: unknown) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        const fault = asInputFault(error);
        note(fault);
        throw fault;
      });
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** A host that may answer later is a temporary fault; every other fault is the caller's. */
function asInputFault(error: unknown): unknown {
  return error instanceof NetError ? new InputError(error.message, { retryable: error.retryable, cause: error }) : error;
}

/** Fetches a caller's URL. Throws the result of `asInputFault`. */
async function fetched<T>(
  url: string,
  rules: UrlRules,
  maxBytes: number,
  accept: string,
  use: (file: PublicFile) => T | Promise<T>,
): Promise<T> {
  try {
    return await use(await fetchPublic(url, { ...rules, timeoutMs: fetchTimeoutMs, maxBytes, accept }));
  } catch (error) {
    throw asInputFault(error);
  }
}
