/** A task's record: the submission, its progress, its result. */

import type { Kind, Route } from "../catalog/models.ts";
import type { Step as PathStep } from "../catalog/own-schema.ts";
import type { Parameters } from "../catalog/parse.ts";
import type { ImageRole } from "../catalog/fields.ts";
import type { FailureCode } from "../base/errors.ts";
import type { callbackFaults, deliveryFaults, taskStatuses } from "../base/words.ts";
import type { Operation } from "../providers/provider.ts";
import type { Asset } from "../storage/assets.ts";
import type { Language } from "../messages/index.ts";
import type { BatchLine } from "./batch-line.ts";
import type { Versioned } from "../base/versions.ts";

/** An input image of the submission: a public URL, or the stored file of an inline one. */
export type Input = { role: ImageRole; /** The place of the file in an own input. */ at?: PathStep[] } & (
  | { url: string; key?: never }
  | { key: string; url?: never }
);

/** The source video of a character or a remix. */
export type Source =
  | { url: string; taskId?: never; asset?: never; provider?: never; operation?: never }
  /** A video that the caller uploaded: an input of the task. */
  | { url?: never; taskId?: never; asset: Asset; provider?: never; operation?: never }
  /** A task of the same account, and its video. */
  | { url?: never; taskId: string; asset: Asset; provider: string; operation?: Operation | undefined };

/**
 * Where the files are delivered once the task has completed: to a presigned URL, which is sealed (`signing/sealing.ts`), or to a destination
 * of the account, with the beginning of its keys there.
 */
export type DeliverTo = { url: string; destination?: never; prefix?: never } | { destination: string; prefix?: string; url?: never };

/** The prices of a model when the task was submitted. */
interface PriceRule {
  unit: string;
  /** The version of the whole price table: equal prices have equal versions. */
  version: string;
  amounts: Record<string, number>;
}

/** A checked and priced submission. Never changes. */
export interface Submission extends Versioned {
  requestId: string;
  /** The base URL of assets for this caller's host name. */
  base: string;
  /** The language of messages in callbacks. */
  language: Language;
  /** The URL for this task's callback, used instead of the account's endpoint. */
  callbackUrl?: string;
  deliverTo?: DeliverTo;
  /** The gateway's own host name in the caller's request: a redirect of a caller's URL may not lead to it. */
  host: string;
  accountId: string;
  keyId: string;
  /** The id of the object of the client token that submitted the task. */
  token?: string;
  /** The line of a batch that the task is. */
  batch?: BatchLine;
  /** The maximum number of open tasks of the key. */
  maxKeyTasks?: number;
  kind: Kind;
  model: string;
  routes: Route[];
  /** Resolved parameters without inline image data. */
  parameters: Parameters;
  inputs: Input[];
  source?: Source;
  /** True if an own input names files, also those that only its upstream reads. */
  fromMedia?: true;
  /** Each with the provider that created it, and its handle there. */
  characters: { id: string; username: string; displayName: string; provider: string; handle: string | null }[];
  /** The caller's reference. */
  reference?: string;
  /** Set if the prompt and the URLs of inputs are removed when the task ends. */
  store?: false;
  /** True once texts of the parameters were cut, because the task ended without a result. */
  isCut?: true;
  /** The operator's choice of a visible label, where the caller has none. Absent: no label. */
  label?: "on" | "maker";
  /** Millionths reserved for the whole task. */
  price: number;
  /** Millionths per image: if fewer images are generated, less is charged. */
  imagePrice?: number;
  /** The prices that were used, in balance units. */
  priceRule: PriceRule;
  /** SHA-256 (hexadecimal) of the body in canonical JSON; null if the text of the body was not available. */
  bodyDigest: string | null;
  typicalSeconds: number;
  /** How long providers worked on similar tasks lately; absent if too few are known. */
  runSeconds?: RunSeconds;
  deadlineSeconds: number;
}

/** Seconds from the start of the work to its end: all but two of a hundred took at least `first`, all but one at most `last`. */
export interface RunSeconds {
  first: number;
  mean: number;
  last: number;
}

/** What a model with its own input made beside the files of its kind. */
interface MoreResults {
  files?: Asset[];
  /** The upstream's answer without its files: JSON. */
  data?: object;
}

export type Result =
  | ({ kind: "images"; images: Asset[] } & MoreResults)
  | ({ kind: "video"; video: Asset; thumbnail?: Asset; width: number; height: number; seconds: number } & MoreResults)
  | ({ kind: "files" } & MoreResults)
  | { kind: "character"; id: string; username: string; displayName: string; handle?: string; picture: Asset };

/** The next step of an open task, and when it is due. */
type OpenStep =
  /** The price is being reserved; the caller has no answer yet. */
  | { do: "reserve"; at: number }
  /** A message for the consumer was sent; it is sent again at `at`. */
  | { do: "start" | "collect"; at: number; sent: number }
  /** A consumer has a lease until `at`. */
  | { do: "starting" | "collecting"; at: number; lease: string; repeatable: boolean }
  | { do: "poll"; at: number };

/** The next step of a final task, and when it is due. */
type FinalStep =
  /** The task is final and must be settled. */
  { do: "settle"; at: number } | { do: "erase"; at: number } | { do: "forget"; at: number };

export type Step = OpenStep | FinalStep;

/** The fields of every task. */
interface TaskBase {
  id: string;
  submission: Submission;
  createdAt: number;
  deadline: number;
  /** Consecutive faults of the current step. */
  faults: number;
  /** The index of the current route among the submission's routes. */
  route: number;
  /** The outcomes of the earlier routes, for the operator: when the provider was first asked, if it was, and when the route was left. Records of the previous release lack the times. */
  attempts: { provider: string; outcome: string; from?: number; to?: number }[];
  /** What the makers bill, in millionths, by `attemptName`; null if the amount is not known. Absent: nothing is known yet. */
  costs?: Record<string, number | null>;
  progress: number;
  /** True if the provider reports progress; otherwise it is computed from the elapsed time. */
  reportsProgress: boolean;
  startedAt?: number;
  /** When this route's provider was first asked to start, counted from the last time it was certain that nothing had been accepted. */
  askedAt?: number;
  /** True if an earlier lease ended, or the task, and it is unknown whether the provider accepted the work. */
  isUnknown?: boolean;
  /** The provider's handle of the accepted work. */
  operation?: Operation;
  /** True if the provider got the task's callback URL for this operation. */
  callsBack?: boolean;
  /** When a poll found the provider's work finished. */
  readyAt?: number;
  /** Since when the provider has not answered a poll of the operation; undefined if it answered the last one. */
  silentSince?: number;
  /** Work that earlier routes have accepted and may still complete. */
  earlier?: EarlierWork[];
  /** True if a consumer may have stored assets. */
  mayHaveAssets: boolean;
  /** True if every stored file is named in the result. */
  isTidy: boolean;
  /** How many times the record was written; used in the names of collection leases. */
  writes: number;
}

export interface OpenTask extends TaskBase {
  status: Exclude<(typeof taskStatuses)[number], "completed" | "failed">;
  step: OpenStep;
  finalAt?: never;
  error?: never;
  result?: never;
  endedBy?: never;
  charged?: never;
  expiresAt?: never;
  callback?: never;
  delivery?: never;
  deliveryCallback?: never;
  isDeleted?: never;
}

/** The fields of every final task. */
interface FinalBase extends TaskBase {
  step: FinalStep;
  finalAt: number;
  /** Millionths to charge; 0 returns everything. */
  charged: number;
  /** Set once the task is settled, if it has an endpoint or callback_url. */
  callback?: Callback;
  /** Set once a completed task with `deliverTo` is settled. */
  delivery?: Delivery;
  /** The callback about the end of the delivery; its calls follow those of `callback`. */
  deliveryCallback?: Callback;
  /** True if the owner has deleted the task: every query answers that it does not exist. The rest of the record keeps a repeated submission from creating it again, and handles late reports of starts. */
  isDeleted?: boolean;
}

export interface CompletedTask extends FinalBase {
  status: "completed";
  result: Result;
  expiresAt: number;
  /** The lease under which the result was stored; its consumer may repeat the report. */
  endedBy?: string;
  error?: never;
  isBusy?: never;
}

export interface FailedTask extends FinalBase {
  status: "failed";
  error: FailureCode;
  /** The line of a batch that its makers refused as busy, at no cost: its batch makes it again as another task. */
  isBusy?: true;
  result?: never;
  expiresAt?: never;
  endedBy?: never;
}

export type FinalTask = CompletedTask | FailedTask;
export type Task = OpenTask | FinalTask;

export const isFinal = (task: Task): task is FinalTask => task.status === "completed" || task.status === "failed";

export const firstRoute = (routes: Route[]): Route => currentRoute({ submission: { routes }, route: 0 });

export function currentRoute({ submission, route }: { submission: Pick<Submission, "routes">; route: number }): Route {
  const current = submission.routes[route];
  if (!current) throw new Error(`the task has no route ${route}`);
  return current;
}

export type CallbackFault = (typeof callbackFaults)[number];

/** One call of the receiver: its start and duration in milliseconds, and its outcome. */
export interface Attempt {
  at: number;
  ms: number;
  /** The receiver's HTTP status. */
  status?: number;
  /** Set if there is no status. */
  fault?: CallbackFault;
}

/** A consumer's report of a call. */
export type CallbackReport =
  | ({ outcome: "attempted" } & Attempt)
  /** The account's endpoint was removed in the meantime. */
  | { outcome: "no_endpoint" }
  /** Our own storage did not answer, so the receiver was not called. */
  | { outcome: "postponed" };

/** The callback of a final task. */
export interface Callback {
  /** `pending` while an attempt is due or running; `gone` after 410; `failed` after the last attempt. */
  state: "pending" | "delivered" | "gone" | "failed" | "no_endpoint";
  /** The next step; undefined unless pending. */
  step?:
    | { do: "wait"; at: number }
    /** A message for the consumer was sent; the object makes the call itself at `at`. */
    | { do: "call"; at: number }
    /** A consumer makes the call under a lease until `at`. */
    | { do: "calling"; at: number; lease: string };
  /** Consecutive failed attempts since the callback began or was last requested. */
  failures: number;
  attempts: Attempt[];
}

export type DeliveryFault = (typeof deliveryFaults)[number];

/** One attempt to deliver the files that are left: its start and duration in milliseconds, and its outcome. */
export interface DeliveryAttempt {
  at: number;
  ms: number;
  /** The HTTP status of the last answer. */
  status?: number;
  fault?: DeliveryFault;
  /** The error code in the bucket's answer: `AccessDenied`. */
  code?: string;
}

export interface DeliveredFile {
  name: string;
  /** Where it is, without a signature. */
  url: string;
  /** Hexadecimal. */
  sha256: string;
}

/** The report of an attempt, with the files that it has delivered. */
export type DeliveryReport = { files: DeliveredFile[] } & (
  | ({ outcome: "attempted"; /** No later attempt can succeed. */ isLast?: boolean } & DeliveryAttempt)
  /** Our own storage did not answer. */
  | { outcome: "postponed" }
);

/** The delivery of a completed task's files. */
export interface Delivery {
  state: "pending" | "delivered" | "failed";
  /** The next step; undefined once the end is announced. */
  step?:
    | { do: "wait"; at: number }
    /** The object delivers under a lease until `at`. */
    | { do: "delivering"; at: number; lease: string }
    /** The end has to be written among the account's events, and its callback begun. */
    | { do: "announce"; at: number };
  /** Consecutive failures of the step. */
  failures: number;
  attempts: DeliveryAttempt[];
  /** The files that have arrived. */
  files: DeliveredFile[];
  endedAt?: number;
}

/** Work accepted by an earlier route, still without an outcome. */
export interface EarlierWork {
  route: number;
  operation: Operation;
  /** When the provider is polled next. */
  at: number;
  faults: number;
  /** What its maker bills if it makes it, in millionths; null if that is not known. Set when the task has ended. */
  cost?: number | null;
  /** What its maker bills, once that is known after the task's end, until it is booked. A maker that has stopped work may not know it any more. */
  end?: number | null;
}
