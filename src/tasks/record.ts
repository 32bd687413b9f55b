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
  /** A video that the caller sent along: an input of the task. */
  | { url?: never; taskId?: never; asset: Asset; provider?: never; operation?: never }
  /** A task of the same account, and its video. */
  | { url?: never; taskId: string; asset: Asset; provider: string; operation?: Operation | undefined };

/** The prices of a model as they stood when a task was submitted. */
interface PriceRule {
  unit: string;
  /** Of the whole price table: the same prices have the same version. */
  version: string;
  amounts: Record<string, number>;
}

/** A checked and priced submission. Never changes. */
export interface Submission extends Versioned {
  requestId: string;
  /** The base URL of assets, as the caller reached the gateway. Missing in tasks from before there were callbacks. */
  base?: string;
  /** The language of messages in callbacks; default English. */
  language?: Language;
  /** The URL for this task's callback, instead of the account's endpoint. */
  callbackUrl?: string;
  /** The gateway's own host name, as the caller wrote it: no redirect of a caller's URL may point to it. */
  host: string;
  accountId: string;
  keyId: string;
  /** The object of the browser token that it was submitted with. */
  token?: string;
  /** Open tasks that its key may have. */
  maxKeyTasks?: number;
  kind: Kind;
  model: string;
  routes: Route[];
  /** Resolved parameters without inline image data. */
  parameters: Parameters;
  inputs: Input[];
  source?: Source;
  /** With the provider that made each, and its handle there. */
  characters: { id: string; username: string; displayName: string; provider?: string | null; handle?: string | null }[];
  /** The caller's reference. */
  reference?: string;
  /** The prompt and the addresses of inputs are not kept after the end. */
  store?: false;
  /** Millionths reserved for the whole task. */
  price: number;
  /** Millionths per image: if fewer are made, fewer are charged. */
  imagePrice?: number;
  /** The prices that were used, in balance units. Missing in tasks from before there were receipts, like the next. */
  priceRule?: PriceRule;
  /** SHA-256 (hexadecimal) of the body in canonical JSON; null where its text is not known any more. */
  bodyDigest?: string | null;
  typicalSeconds: number;
  deadlineSeconds: number;
}

export type Result =
  | { kind: "images"; images: Asset[] }
  | { kind: "video"; video: Asset; thumbnail?: Asset; width: number; height: number; seconds: number }
  | { kind: "character"; id: string; username: string; displayName: string; handle?: string; picture: Asset };

/** What happens next to a task that has not ended, and when. */
type OpenStep =
  /** The reservation is running; the caller has no answer yet. */
  | { do: "reserve"; at: number }
  /** A message for the consumer was sent; it is sent again at `at`. */
  | { do: "start" | "collect"; at: number; sent: number }
  /** A consumer has a lease until `at`. */
  | { do: "starting" | "collecting"; at: number; lease: string; repeatable: boolean }
  | { do: "poll"; at: number };

/** What happens next to a task that has ended, and when. */
type FinalStep =
  /** The task is final and must be settled. */
  { do: "settle"; at: number } | { do: "erase"; at: number } | { do: "forget"; at: number };

export type Step = OpenStep | FinalStep;

/** What every task has. */
interface TaskBase {
  id: string;
  /** Who holds the price. Without it, D1's own ledger: the task is older than the wallet objects. */
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
  /** The provider reports progress; otherwise it is computed from the time. */
  reportsProgress: boolean;
  startedAt?: number;
  /** When this route's provider was first asked to start, since it was last known that nothing had been accepted. */
  askedAt?: number;
  /** An earlier lease ended without knowing whether the provider accepted. */
  isUnknown?: boolean;
  /** The provider's handle of the accepted work. */
  operation?: Operation;
  /** The provider was given the task's callback URL for the operation. */
  callsBack?: boolean;
  /** Since when no poll of the operation was answered; undefined if the last one was. */
  silentSince?: number;
  /** Work that earlier routes have accepted and may still complete. */
  earlier?: EarlierWork[];
  /** A consumer may have stored assets. */
  mayHaveAssets: boolean;
  /** No consumer has left files that the result does not name. Missing in tasks from before it was known. */
  isTidy?: boolean;
  /** How many times the record was written: names the leases of collections. */
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

/** What every task has that has ended. */
interface FinalBase extends TaskBase {
  step: FinalStep;
  finalAt: number;
  /** Millionths to charge; 0 returns everything. */
  charged: number;
  /** Set once the task is settled, if it has an endpoint or callback_url. */
  callback?: Callback;
  /** Deleted by its owner, for whom there is no such task any more. What is left stands against repeats of the submission and late starts. */
  isDeleted?: boolean;
}

export interface CompletedTask extends FinalBase {
  status: "completed";
  result: Result;
  expiresAt: number;
  /** The lease whose holder stored the result and may report it twice. */
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
