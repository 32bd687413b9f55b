/** The contract between tasks and upstreams: three functions and their verdicts. Adapters know nothing of our money, statuses or storage. */

import type { FailureCode } from "../errors.ts";

export { ProviderError } from "./provider-error.ts";

/** An upstream's handle of work it accepted: opaque text that only its adapter reads. */
export type Operation = string;

/** What a task asks an upstream to make, in words. Values are resolved: every default is filled in. */
export interface GenerationRequest {
  kind: "image" | "video" | "character" | "remix";
  /** The upstream's model id, from the route. */
  model: string;
  prompt: string;
  /** The name that the caller gave a character; otherwise the provider makes one. */
  name?: string | undefined;
  /** Number of images; 1 for everything else. */
  n: number;
  /** Aspect ratio, `16:9`, or `auto` for a video in the ratio of its first frame (16:9 where a route cannot follow it); absent for characters. */
  size?: string;
  /** Width and height that the interface names for the ratio; images. */
  pixels?: readonly [number, number];
  /** Seconds; video and remix. */
  duration?: number;
  /** `480p`, `512p`, `720p`, `768p`, `1080p`; where the model has the choice. */
  resolution?: string;
  quality?: "standard" | "hd";
  style?: string;
  watermark?: boolean;
  storyboard?: boolean;
  thumbnail?: boolean;
  promptOptimizer?: boolean;
  /** Images that guide the generation, in the caller's order. The part each plays was resolved when the submission was checked. */
  images: { role: ImageRole; url?: string }[];
  /** Characters named in the prompt. Those that this provider made itself have its handle. */
  characters: MadeCharacter[];
  /** The provider's own handle of the remixed video, when the same provider made it. */
  sourceOperation?: Operation;
}

type ImageRole = "first_frame" | "last_frame" | "reference";

/** A generation request, and its input files. */
export interface Job extends GenerationRequest {
  /** Unique for the task and its route, and the same at each repeat: the idempotency key for upstreams that take one. */
  key: string;
  /** When this provider was first asked (milliseconds). Set only when the outcome of that is unknown. */
  askedAt?: number;
  /** For providers with `readCallback`: the URL that the maker is asked to call when the work has ended; absent when it could not be reached. */
  callbackUrl?: string;
  images: InputImage[];
  /** Each with its image as a reference, for upstreams that take references. */
  characters: (GenerationRequest["characters"][number] & { image: InputImage })[];
  /** The video that a character is taken from, or that a remix starts from. */
  source?: InputVideo;
  /** Character creation: the part of the source, in seconds. */
  range?: { start: number; end: number };
  /**
   * Keeps an output whose bytes come only once, as they come: the output that opens them from then on. One after the other; the memory of
   * one is all that a task has.
   */
  keep: (bytes: AsyncIterable<Uint8Array>) => Promise<Output>;
}

export interface InputImage {
  role: ImageRole;
  /** The caller's public URL, absent for an inline image. */
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

/** Something the upstream says it made. */
export interface Output {
  /** Opens the bytes. May be called again after a broken download; never generates again. */
  open(): Promise<{ body: ReadableStream<Uint8Array>; type: string; length?: number }>;
  thumbnail?: Output;
}

/** An upstream's verdict is final. */
export type Succeeded = {
  status: "succeeded";
  outputs: Output[];
  character?: MadeCharacter;
  /** Set by a start that succeeds at once: `poll` returns the same outputs for it, so that a broken download causes no second generation. */
  operation?: Operation;
};
/** After `provider_error` the next route is tried; every other code ends the task. */
export type Failed = { status: "failed"; code: FailureCode };
interface MadeCharacter {
  username: string;
  displayName: string;
  /** The provider's own id of the character, where it keeps characters. */
  handle?: string;
}

/** The upstream accepted the job. `pollAfterMs` is the upstream's own word on when to poll; without it the task's schedule decides. */
export type Accepted = { status: "accepted"; operation: Operation; pollAfterMs?: number };
/** Still working. `progress` is 0 to 99 where the upstream reports it. */
export type Pending = { status: "pending"; progress?: number; pollAfterMs?: number };

/**
 * What a request to a task's callback URL is: true for news, false without the maker's own signature where it has one, `early` when the work
 * goes on, `answer` for a question of the maker's.
 */
export type CallbackVerdict = boolean | "early" | { answer: object };

/** A chat completion in OpenAI's format, answered whole or as server-sent events. */
interface ChatRequest {
  /** OpenAI's request body with the upstream's model id, fitted to its family (`chat-families.txt`): the answer's limit is always in it. */
  body: Record<string, unknown>;
  stream: boolean;
  /** Aborted when the answer takes too long, or some seconds after its caller has gone. */
  signal: AbortSignal;
}

export interface Provider {
  readonly name: string;
  /** True when `start` may be repeated without generating twice: the upstream takes `job.key`, or `start` looks for work accepted since `askedAt`. */
  readonly repeatable: boolean;
  /** True when `start` answers only when the work is done, which takes many seconds. Such starts have a queue of their own. */
  answersWhenDone?(request: Pick<GenerationRequest, "kind" | "model">): boolean;
  /** Time limit of `start` for work of this kind; after it the outcome is unknown. */
  startTimeoutMs(kind: Job["kind"]): number;
  /** `poll` reports progress; otherwise it is computed from the time that passed. */
  readonly reportsProgress: boolean;
  /** Seconds a task usually takes here, where that differs from the model's own time. */
  readonly typicalSeconds?: Partial<Record<Job["kind"], number>>;
  /**
   * The request field that this provider cannot honour (`size`, `metadata.resolution`), or undefined if it can honour all.
   * Sends nothing. What a caller asked and pays for is never changed silently.
   */
  unsupportedField?(request: GenerationRequest): string | undefined;
  /** Whether the upstream would refuse the prompt for its content, known without asking it. */
  refuses?(prompt: string): boolean;
  start(job: Job, signal: AbortSignal): Promise<Accepted | Succeeded | Failed>;
  /** One short request. May be called any number of times, also for an operation that has ended. */
  poll(operation: Operation): Promise<Pending | Succeeded | Failed>;
  cancel?(operation: Operation): Promise<void>;
  /**
   * Present where the maker calls `job.callbackUrl`. Judges a request to it, and believes nothing in it: what it announces is polled. Throws
   * `ProviderError` when the maker's keys cannot be fetched, `NetError` when the body is too large or breaks off.
   */
  readCallback?(request: Request): Promise<CallbackVerdict>;
  /** Returns a response with OpenAI's body: JSON, or an event stream when `stream`. Throws `ProviderError`. */
  chat?(request: ChatRequest): Promise<Response>;
}

/** The caller's input cannot be used: a file that is not an image, an address that does not answer. The task fails as `invalid_input`. */
export class InputError extends Error {
  override readonly name = "InputError";
  /** The URL may answer later. */
  readonly retryable: boolean;

  constructor(message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable ?? false;
  }
}
