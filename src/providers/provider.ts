/** The contract between tasks and upstreams: three functions and their verdicts. Adapters know nothing of our money, statuses or storage. */

import type { FailureCode } from "../errors.ts";

/** An upstream's handle of work it accepted: opaque text, that only its adapter reads. */
export type Operation = string;

/** What a task asks an upstream to make, in words. Values are resolved: every default is filled in. */
export interface GenerationRequest {
  kind: "image" | "video" | "character" | "remix";
  /** The upstream's model id, from the route. */
  model: string;
  prompt: string;
  /** Number of images; 1 for everything else. */
  n: number;
  /** Aspect ratio, `16:9`; absent for characters. */
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
  /** Pictures that guide the generation, in the caller's order. */
  images: { role?: ImageRole; url?: string }[];
  /** Characters named in the prompt; those that the same provider made with its own handle of them. */
  characters: MadeCharacter[];
  /** The provider's own handle of the remixed film, when the same provider made it. */
  sourceOperation?: Operation;
}

type ImageRole = "first_frame" | "last_frame" | "reference";

/** A request, and the means to fulfil it. */
export interface Job extends GenerationRequest {
  /** Unique for the task and stable over repeats: an upstream that knows idempotency keys gets this one. */
  key: string;
  /** Milliseconds: when this provider was first asked for it. Set when that went wrong in a way nobody knows the outcome of. */
  askedAt?: number;
  images: InputImage[];
  /** Each with its picture, for upstreams that take references. */
  characters: (GenerationRequest["characters"][number] & { picture: InputImage })[];
  /** The film that a character is taken from, or that a remix starts from. */
  source?: InputVideo;
  /** Character creation: the part of the source, in seconds. */
  range?: { start: number; end: number };
}

export interface InputImage {
  role?: ImageRole;
  /** The caller's public URL, absent for an inline image. */
  url?: string;
  /**
   * Reads the picture, checked for size and type, for as long as `use` takes: its memory is given back then. One after the other: few fit in an
   * isolate, and whoever waits for a second one keeps the others waiting. Throws `InputError`.
   */
  read<T>(use: (picture: { bytes: Uint8Array<ArrayBuffer>; type: string }) => Promise<T>): Promise<T>;
}

export interface InputVideo {
  url?: string;
  /** SHA-256 of a stored film, base64url. */
  digest?: string;
  /** Opens the film as a stream, bounded in bytes. Throws `InputError`. */
  open(): Promise<ReadableStream<Uint8Array>>;
}

/** Something the upstream says it made. */
export interface Output {
  /** Opens the bytes. May be called again after a broken read; never generates anew. */
  open(): Promise<{ body: ReadableStream<Uint8Array>; type: string; length?: number }>;
  thumbnail?: Output;
}

/** An upstream's verdict is final. */
export type Succeeded = {
  status: "succeeded";
  outputs: Output[];
  character?: MadeCharacter;
  /** Of a start that succeeded at once: what `poll` tells these outputs again by, so that a broken download is no second generation. */
  operation?: Operation;
};
/** `provider_error` gives way to the next route, every other code is the end of the task. */
export type Failed = { status: "failed"; code: FailureCode };
interface MadeCharacter {
  username: string;
  displayName: string;
  /** What the provider knows it by, where it keeps characters. */
  handle?: string;
}

/** The upstream took the job. `pollAfterMs` is when to ask first. */
export type Accepted = { status: "accepted"; operation: Operation; pollAfterMs?: number };
/** Still working. `progress` is 0 to 99 where the upstream tells it. */
export type Pending = { status: "pending"; progress?: number; pollAfterMs?: number };

/** Where a chat message comes from and goes to: OpenAI's chat completions, as parsed JSON or as server-sent events. */
interface ChatRequest {
  /** OpenAI's request body with the upstream's model id. */
  body: Record<string, unknown>;
  stream: boolean;
  signal: AbortSignal;
}

export interface Provider {
  readonly name: string;
  /** True when `start` may be repeated without making anything twice: the upstream knows `job.key`, or `start` looks an `askedAt` up. */
  readonly repeatable: boolean;
  /** The most time `start` may take for work of this kind, after which its outcome is unknown. */
  startTimeoutMs(kind: Job["kind"]): number;
  /** `poll` tells how far the work is; otherwise progress is computed from the time that passed. */
  readonly reportsProgress: boolean;
  /** Seconds a task usually takes here, where that differs from the model's own time. */
  readonly typicalSeconds?: Partial<Record<Job["kind"], number>>;
  /**
   * The caller's field that this provider cannot honour as it was asked for (`size`, `metadata.resolution`), or undefined
   * when it can do it all. Asks nobody. Nothing is ever changed silently that a caller asked and pays for.
   */
  unsupportedField?(request: GenerationRequest): string | undefined;
  /** Says without asking the upstream that it would refuse the prompt's content. */
  refuses?(prompt: string): boolean;
  start(job: Job, signal: AbortSignal): Promise<Accepted | Succeeded | Failed>;
  /** Short: one request. For an operation that is done it may be called any number of times. */
  poll(operation: Operation): Promise<Pending | Succeeded | Failed>;
  cancel?(operation: Operation): Promise<void>;
  /** Answers an upstream response with OpenAI's body: JSON, or an event stream when `stream`. Throws `ProviderError`. */
  chat?(request: ChatRequest): Promise<Response>;
}

/** "Could not ask": the upstream gave no verdict. A returned value is a verdict, a throw never is. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** Whether the upstream certainly took nothing: it refused before accepting, or was never reached. */
  readonly nothingAccepted: boolean;
  /** The content of a chat was refused; asking elsewhere would not help. */
  readonly contentPolicy: boolean;
  /** The operator's credentials or money failed there: nobody's request would succeed. */
  readonly account: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: {
      retryable: boolean;
      nothingAccepted?: boolean;
      contentPolicy?: boolean;
      account?: boolean;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.nothingAccepted = options.nothingAccepted ?? false;
    this.contentPolicy = options.contentPolicy ?? false;
    this.account = options.account ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** What the caller gave cannot be used: a picture that is none, an address that does not answer. The task fails as `invalid_input`. */
export class InputError extends Error {
  override readonly name = "InputError";
  /** The address may answer later. */
  readonly retryable: boolean;

  constructor(message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable ?? false;
  }
}
