/** A task's record: what was submitted, how far it is, what came of it. */

import type { Kind } from "../catalog/models.ts";
import type { Parameters } from "../catalog/parse.ts";
import type { Route } from "../catalog/routes.ts";
import type { ImageRole } from "../catalog/fields.ts";
import type { FailureCode } from "../errors.ts";
import type { Operation } from "../providers/provider.ts";
import type { Asset } from "../assets.ts";
import type { Language } from "../messages/index.ts";
import type { Callback } from "./callback.ts";
import type { EarlierWork } from "./hedge.ts";

/** A picture given with the submission: a public URL, or what was stored of an inline one. */
export interface Input {
  url?: string;
  key?: string;
  role?: ImageRole;
}

/** The film that a character or a remix comes from. */
export interface Source {
  url?: string;
  /** A task of the same account and its film. */
  taskId?: string;
  asset?: Asset;
  provider?: string;
  operation?: Operation | undefined;
}

/** The prices of a model as they stood when a task was submitted. */
interface PriceRule {
  unit: string;
  /** Of the whole price table: the same prices have the same version. */
  version: string;
  amounts: Record<string, number>;
}

/** A submission that was checked and priced. Never changes. */
export interface Submission {
  requestId: string;
  /** Where the URLs of assets begin, as the caller reached the gateway. Missing in tasks from before there were callbacks. */
  base?: string;
  /** The language of its messages in callbacks; English when missing. */
  language?: Language;
  /** Where the caller wants to be called back for this task, instead of the account's endpoint. */
  callbackUrl?: string;
  /** The gateway's own hostname, as the caller wrote it: no redirect of a caller's URL may lead back to it. */
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
  /** The caller's own name for it. */
  reference?: string;
  /** Millionths held for the whole task. */
  price: number;
  /** Millionths for one picture: fewer made, fewer charged. */
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
  /** The ledger is being asked; the caller has not been told of the task yet. */
  | { do: "reserve"; at: number }
  /** A message for the consumer is under way; it is sent again at `at`. */
  | { do: "start" | "collect"; at: number; sent: number }
  /** The consumer works under a lease until `at`. */
  | { do: "starting" | "collecting"; at: number; lease: string; repeatable: boolean }
  | { do: "poll"; at: number };

/** What happens next to a task that has ended, and when. */
type FinalStep =
  /** The books are owed the end of this task. */
  { do: "settle"; at: number } | { do: "erase"; at: number } | { do: "forget"; at: number };

export type Step = OpenStep | FinalStep;

/** What every task has. */
interface TaskBase {
  id: string;
  submission: Submission;
  createdAt: number;
  deadline: number;
  /** Faults of the current step in a row. */
  faults: number;
  /** Which of the submission's routes is being tried. */
  route: number;
  /** What became of the routes before it, for the operator. */
  attempts: { provider: string; outcome: string }[];
  progress: number;
  /** The provider tells its progress; otherwise it is computed from time. */
  reportsProgress: boolean;
  startedAt?: number;
  /** When the provider of this route was first asked to begin, since it was last known that nothing had been accepted. */
  askedAt?: number;
  /** An earlier lease left it open whether the provider accepted. */
  isUnknown?: boolean;
  /** The provider's handle of the work it accepted. */
  operation?: Operation;
  /** Since when no poll of the operation was answered; undefined when the last one was. */
  silentSince?: number;
  /** What routes that gave way have accepted and may still make. */
  earlier?: EarlierWork[];
  /** A consumer may have stored assets. */
  mayHaveAssets: boolean;
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
}

/** What every task has that has ended. */
interface FinalBase extends TaskBase {
  step: FinalStep;
  finalAt: number;
  /** Millionths to charge; 0 returns everything. */
  charged: number;
  /** Set once the task is settled, if there is an address to call back. */
  callback?: Callback;
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

/** The route that is being tried. */
export function currentRoute({ submission, route }: Pick<Task, "submission" | "route">): Route {
  const current = submission.routes[route];
  if (!current) throw new Error(`the task has no route ${route}`);
  return current;
}
