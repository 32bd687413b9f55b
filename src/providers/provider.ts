/** The contract between tasks and providers: three functions and their verdicts. Adapters do not use the gateway's money, statuses or storage. */

import type { FailureCode } from "../base/errors.ts";
import type { MakerUsage } from "../base/maker-usage.ts";
import type { taskKinds } from "../base/words.ts";

export { ProviderError } from "./provider-error.ts";

/** A provider's handle of accepted work: opaque text that only its adapter reads. */
export type Operation = string;

/** The parameters of a task's generation, without input files. Every default is filled in. */
export interface GenerationRequest {
  kind: (typeof taskKinds)[number];
  /** The upstream's model id, from the route. */
  model: string;
  prompt: string;
  /** The name that the caller gave a character; without it the provider chooses one. */
  name?: string | undefined;
  /** Number of images; 1 for other kinds. */
  n: number;
  /** Aspect ratio, `16:9`, or `auto` for a video with the ratio of its first frame (16:9 if a route does not support that); absent for characters. */
  size?: string;
  /** Width and height in pixels for the ratio (interface); images only. */
  pixels?: readonly [number, number];
  /** Duration in seconds; videos and remixes. */
  duration?: number;
  /** `480p`, `512p`, `720p`, `768p` or `1080p`; for models with several resolutions. */
  resolution?: string;
  quality?: "standard" | "hd";
  /** The requested file format of images; without it the upstream's default. */
  outputFormat?: "png" | "jpeg" | "webp";
  /** The requested background of images; without it the upstream's default. */
  background?: "opaque" | "transparent";
  style?: string;
  /** Whether the caller wants a visible label; absent if the caller did not say, or cannot. */
  watermark?: boolean;
  /** The operator's choice where the caller has none: a visible label, or the maker's default. Absent: no label. */
  label?: "on" | "maker";
  storyboard?: boolean;
  thumbnail?: boolean;
  promptOptimizer?: boolean;
  /** Images that guide the generation, in the caller's order. Each one's role was resolved when the submission was checked. */
  images: { role: ImageRole; url?: string; at?: (string | number)[] }[];
  /** The upstream's own input, for models that have one: sent as it is, with the bytes of `images` at their places. */
  input?: object;
  /** Characters named in the prompt; with the handle if this provider created it. */
  characters: MadeCharacter[];
  /** This provider's handle of the remixed video; absent if another provider made the video. */
  sourceOperation?: Operation;
}

type ImageRole = "first_frame" | "last_frame" | "reference";

/** A generation request, and its input files. */
export interface Job extends GenerationRequest {
  /** Unique for the task and its route, and equal at each repeat: the idempotency key for upstreams that accept one. */
  key: string;
  /** When this provider was first asked to start (milliseconds). Set only if the outcome of that start is unknown. */
  askedAt?: number;
  /** The URL that the upstream should call when the work has ended, for providers with `readCallback`; absent if the upstream could not reach it. */
  callbackUrl?: string;
  images: InputImage[];
  /** Each with its image as a reference image, for upstreams that support them. */
  characters: (GenerationRequest["characters"][number] & { image: InputImage })[];
  /** The source video of a character or a remix. */
  source?: InputVideo;
  /** Character creation: the range of the source, in seconds. */
  range?: { start: number; end: number };
  /**
   * Stores an output whose bytes are sent only once, while they arrive; returns the output that opens the stored bytes. Call it for one
   * output after the other: a task's memory holds only one.
   */
  keep: (bytes: AsyncIterable<Uint8Array>) => Promise<Output>;
}

export interface InputImage {
  role: ImageRole;
  /** Its place in an own input; it may then be another file than an image. */
  at?: (string | number)[];
  /** The caller's public URL; absent for an inline image. */
  url?: string;
  /**
   * Passes the image, checked for size and type, to `use`, and frees its memory afterwards. Read one image at a time: few fit in an
   * isolate, and holding one while waiting for another blocks other tasks. Throws `InputError`.
   */
  read<T>(use: (image: { bytes: Uint8Array<ArrayBuffer>; type: string }) => Promise<T>): Promise<T>;
}

export interface InputVideo {
  url?: string;
  /** SHA-256 of a stored video, base64url. */
  digest?: string;
  /** Opens the video as a stream, bounded in bytes. Throws `InputError`. */
  open(): Promise<ReadableStream<Uint8Array>>;
}

/** An output file of the upstream. */
export interface Output {
  /** The upstream's name of a file of an own input's answer, `model.obj`: for its ending, if the bytes do not tell the type. */
  name?: string;
  /** Where the answer to an own input says that the file is. */
  url?: string;
  /** Opens the bytes. May be called again after a broken download, which never causes another generation. */
  open(): Promise<{ body: ReadableStream<Uint8Array>; length?: number }>;
  thumbnail?: Output;
}

/** A file in memory. */
export function heldOutput(content: string | Uint8Array<ArrayBuffer>): Output {
  const blob = new Blob([content]);
  return { open: () => Promise.resolve({ body: blob.stream(), length: blob.size }) };
}

/** An upstream's verdict is final. */
export type Succeeded = {
  status: "succeeded";
  outputs: Output[];
  /** The answer to an own input, without its files. */
  data?: object;
  character?: MadeCharacter;
  /** Set by a start that succeeds at once: `poll` returns the same outputs for it, so that a broken download does not cause a second generation. */
  operation?: Operation;
  /** What the upstream says that it bills; absent if it says nothing. */
  usage?: MakerUsage;
  /** How many outputs it bills, if more than it delivers. */
  billedOutputs?: number;
};
/** `provider_error` starts the next route; every other code ends the task. */
export type Failed = {
  status: "failed";
  code: FailureCode;
  usage?: MakerUsage;
  /** What the upstream bills although the work failed, whatever the route says of failures: outputs that it does not deliver, or the time until it stopped the work (`isStopped`). */
  billed?: { outputs: number } | { isStopped: true };
  /** True if the upstream does not know the work: with another key it may, if that belongs to another account. */
  isUnknown?: true;
};

/** The upstream failed by itself. */
export const ownFailure: Failed = { status: "failed", code: "provider_error" };
/** The upstream does not know the work. */
export const unknownWork: Failed = { ...ownFailure, isUnknown: true };
/** The upstream does not make this content. */
export const blocked: Failed = { status: "failed", code: "content_policy_violation" };
/** The caller's files or input are at fault: another route would fail too. */
export const badInput: Failed = { status: "failed", code: "invalid_input" };

interface MadeCharacter {
  username: string;
  displayName: string;
  /** The provider's own id of the character, if the provider stores characters. */
  handle?: string;
}

/** The upstream accepted the job. `pollAfterMs` is the interval that the upstream requested; without it the task's schedule is used. */
export type Accepted = { status: "accepted"; operation: Operation; pollAfterMs?: number };
/** Still working. `progress` is 0 to 99 if the upstream reports it. */
export type Pending = { status: "pending"; progress?: number; pollAfterMs?: number };

/**
 * The result of reading a request to a task's callback URL: true if the work may have ended, false if it lacks the upstream's required
 * signature, `early` if the work continues, `answer` for a challenge that must be answered.
 */
export type CallbackVerdict = boolean | "early" | { answer: object };

/** A chat completion in OpenAI's format, answered whole or as server-sent events. */
interface ChatRequest {
  /** OpenAI's request body with the upstream's model id, adapted to its family (`chat-families.txt`); it always has a limit for the answer. */
  body: Record<string, unknown>;
  stream: boolean;
  /** The settings of the route. */
  settings?: Record<string, unknown> | undefined;
  /** Aborted when the answer takes too long, or some seconds after the caller disconnected. */
  signal: AbortSignal;
}

/** An upstream model in its maker's list. `gone`: the list lacks it, or lacks it for this account. */
export interface ListedModel {
  gone: boolean;
  /** The day on which the maker ends it, `2027-01-14`. */
  retires?: string;
}

/** The values of the output options that a route honours. */
export interface ImageOutputs {
  formats: readonly NonNullable<GenerationRequest["outputFormat"]>[];
  backgrounds: readonly NonNullable<GenerationRequest["background"]>[];
}

export interface Provider {
  readonly name: string;
  /** True if `start` may be repeated without generating twice: the upstream accepts `job.key` as idempotency key, or `start` looks for work accepted since `askedAt`. */
  readonly repeatable: boolean;
  /** True if `start` answers only when the work is done, which takes many seconds. Such starts have a separate queue. */
  answersWhenDone?(request: Pick<GenerationRequest, "kind" | "model">): boolean;
  /** The time limit of `start` for work of this kind; after it the outcome is unknown. */
  startTimeoutMs(kind: Job["kind"]): number;
  /** True if `poll` reports progress; otherwise progress is computed from the elapsed time. */
  readonly reportsProgress: boolean;
  /** The typical duration in seconds at this provider, if it differs from the model's. */
  readonly typicalSeconds?: Partial<Record<Job["kind"], number>>;
  /**
   * The request field that this provider does not support (`size`, `metadata.resolution`); undefined if it supports all. Sends nothing. A
   * parameter that the caller pays for is never changed silently.
   */
  unsupportedField?(request: GenerationRequest): string | undefined;
  /** What `outputFormat` and `background` of an image request may be; absent or undefined: no format can be chosen, and every background is opaque. */
  imageOutputs?(request: GenerationRequest): ImageOutputs | undefined;
  /** Whether the upstream has a switch for a visible label: `switch` if it may be left out of a request, `always` if not. Absent or undefined: it has none, and draws none. */
  labelSwitch?(request: GenerationRequest): "switch" | "always" | undefined;
  /** True if `start` sends `request.input` as it is. A provider without it never gets a request that has one. */
  readonly takesOwnInput?: boolean;
  /** The name of the setting that a route needs and lacks, that is wrong or not known; undefined if all are right. Asked when a route is saved. Absent: there are no settings. */
  wrongSetting?(settings: Record<string, unknown>): string | undefined;
  /** True if it is known without a request that the upstream would refuse the prompt because of its content. */
  refuses?(prompt: string): boolean;
  start(job: Job, signal: AbortSignal): Promise<Accepted | Succeeded | Failed>;
  /** One short request. May be called any number of times, also for work that has ended. */
  poll(operation: Operation): Promise<Pending | Succeeded | Failed>;
  /**
   * Stops accepted work. Returns true if the upstream stopped it, a failure if it bills a part of the stopped work, false if it makes and
   * bills the work nevertheless: this operation cannot be cancelled, or not any more. Absent if no operation can be. Throws
   * `ProviderError`. May be repeated.
   */
  cancel?(operation: Operation): Promise<boolean | Failed>;
  /** Deletes what the upstream keeps of ended work, such as the prompt. Called after the outputs were stored; may be repeated. */
  erase?(operation: Operation): Promise<void>;
  /**
   * Present if the upstream calls `job.callbackUrl`. Checks a request to it and trusts no content: the work is polled. Throws
   * `ProviderError` if the upstream's signing keys cannot be fetched, `NetError` if the body is too large or incomplete.
   */
  readCallback?(request: Request): Promise<CallbackVerdict>;
  /** What the maker's list of models says of one; one short request. Absent if the maker has no list that is complete. Throws `ProviderError`. */
  lookUpModel?(model: string): Promise<ListedModel>;
  /** Returns a response in OpenAI's format: JSON, or an event stream if `stream` is true. Throws `ProviderError`. */
  chat?(request: ChatRequest): Promise<Response>;
}

/**
 * The caller's input cannot be used: for example a file that is not an image, or a URL that does not answer. The task fails with
 * `invalid_input`.
 */
export class InputError extends Error {
  override readonly name = "InputError";
  /** True if the URL may answer later. */
  readonly retryable: boolean;

  constructor(message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable ?? false;
  }
}
