/** A task's record: the submission, its progress, its result. */

import type { Kind } from "../catalog/models.ts";
import type { Parameters } from "../catalog/parse.ts";
import type { Route } from "../catalog/routes.ts";
import type { ImageRole } from "../catalog/fields.ts";
import type { FailureCode } from "../errors.ts";
import type { Operation } from "../providers/provider.ts";
import type { Asset } from "../assets.ts";
import type { Language } from "../messages/index.ts";
import type { Callback } from "./callback.ts";
import type { Versioned } from "../versions.ts";
import type { EarlierWork } from "./hedge.ts";

/** An input image of the submission: a public URL, or the stored file of an inline one. */
export type Input = { role?: ImageRole } & ({ url: string; key?: never } | { key: string; url?: never });

/** The source video of a character or a remix. */
export type Source =
  | { url: string; taskId?: never; asset?: never; provider?: never; operation?: never }
  /** A video that the caller uploaded: an input of the task. */
  | { url?: never; taskId?: never; asset: Asset; provider?: never; operation?: never }
  /** A task of the same account, and its video. */
  | { url?: never; taskId: string; asset: Asset; provider: string; operation?: Operation | undefined };

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
  /** The base URL of assets for this caller's host name. Missing in tasks from before callbacks existed. */
  base?: string;
  /** The language of messages in callbacks; default English. */
  language?: Language;
  /** The URL for this task's callback, used instead of the account's endpoint. */
  callbackUrl?: string;
  /** The gateway's own host name in the caller's request: a redirect of a caller's URL may not lead to it. */
  host: string;
  accountId: string;
  keyId: string;
  /** The id of the object of the browser token that submitted the task. */
  token?: string;
  /** The maximum number of open tasks of the key. */
  maxKeyTasks?: number;
  kind: Kind;
  model: string;
  routes: Route[];
  /** Resolved parameters without inline image data. */
  parameters: Parameters;
  inputs: Input[];
  source?: Source;
  /** Each with the provider that created it, and its handle there. */
  characters: { id: string; username: string; displayName: string; provider?: string | null; handle?: string | null }[];
  /** The caller's reference. */
  reference?: string;
  /** True if the prompt and the URLs of inputs are removed when the task ends. */
  store?: false;
  /** Millionths reserved for the whole task. */
  price: number;
  /** Millionths per image: if fewer images are generated, less is charged. */
  imagePrice?: number;
  /** The prices that were used, in balance units. This field and the next are missing in tasks from before receipts existed. */
  priceRule?: PriceRule;
  /** SHA-256 (hexadecimal) of the body in canonical JSON; null if the text of the body was not available. */
  bodyDigest?: string | null;
  typicalSeconds: number;
  deadlineSeconds: number;
}

export type Result =
  | { kind: "images"; images: Asset[] }
  | { kind: "video"; video: Asset; thumbnail?: Asset; width: number; height: number; seconds: number }
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
  /** Where the price is held. Missing if it is held in D1's own ledger, because the task is older than the wallet objects. */
  heldBy?: "wallet";
  submission: Submission;
  createdAt: number;
  deadline: number;
  /** Consecutive faults of the current step. */
  faults: number;
  /** The index of the current route among the submission's routes. */
  route: number;
  /** The outcomes of the earlier routes, for the operator. */
  attempts: { provider: string; outcome: string }[];
  progress: number;
  /** True if the provider reports progress; otherwise it is computed from the elapsed time. */
  reportsProgress: boolean;
  startedAt?: number;
  /** When this route's provider was first asked to start, counted from the last time it was certain that nothing had been accepted. */
  askedAt?: number;
  /** True if an earlier lease ended and it is unknown whether the provider accepted the work. */
  isUnknown?: boolean;
  /** The provider's handle of the accepted work. */
  operation?: Operation;
  /** True if the provider got the task's callback URL for this operation. */
  callsBack?: boolean;
  /** Since when the provider has not answered a poll of the operation; undefined if it answered the last one. */
  silentSince?: number;
  /** Work that earlier routes have accepted and may still complete. */
  earlier?: EarlierWork[];
  /** True if a consumer may have stored assets. */
  mayHaveAssets: boolean;
  /** True if every stored file is named in the result. Missing in tasks of earlier versions. */
  isTidy?: boolean;
  /** How many times the record was written; used in the names of collection leases. */
  writes?: number;
}

export interface OpenTask extends TaskBase {
  status: "queued" | "in_progress";
  step: OpenStep;
  finalAt?: never;
  error?: never;
  result?: never;
  endedBy?: never;
  charged?: never;
  expiresAt?: never;
  callback?: never;
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
  /** True if the owner has deleted the task; for the owner it does not exist any more. The rest of the record prevents that a repeated submission creates it again, and handles late reports of starts. */
  isDeleted?: boolean;
}

export interface CompletedTask extends FinalBase {
  status: "completed";
  result: Result;
  expiresAt: number;
  /** The lease under which the result was stored; its consumer may repeat the report. */
  endedBy?: string;
  error?: never;
}

export interface FailedTask extends FinalBase {
  status: "failed";
  error: FailureCode;
  result?: never;
  expiresAt?: never;
  endedBy?: never;
}

export type FinalTask = CompletedTask | FailedTask;
export type Task = OpenTask | FinalTask;

export const isFinal = (task: Task): task is FinalTask => task.status === "completed" || task.status === "failed";

/** The route that is tried first. */
export const firstRoute = (routes: Route[]): Route => currentRoute({ submission: { routes }, route: 0 });

/** The current route. */
export function currentRoute({ submission, route }: { submission: Pick<Submission, "routes">; route: number }): Route {
  const current = submission.routes[route];
  if (!current) throw new Error(`the task has no route ${route}`);
  return current;
}
