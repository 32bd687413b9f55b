/** Holds for the chats of an account in this isolate: while a call of the account's wallet is under way, others wait and go together in the next one. */

import { once } from "../base/once.ts";
import type { Charge } from "../db/ledger.ts";
import type { BookedAttempt } from "../db/settled-sums.ts";

/** The namespace of wallet objects. */
interface Wallets {
  getByName(accountId: string): { chats(calls: ChatCall[]): Promise<boolean[]> };
}

/** A hold, with the time of its release in milliseconds; or a settlement. Amounts in millionths. */
export type ChatCall = { charge: Charge; held: number } & (
  | { deadline: number }
  | { charged: number; outcome: string; attempts?: readonly BookedAttempt[] | undefined }
);

/**
 * After a call that has not been answered, or for which others wait, the next one is sent this long after it: a call costs more CPU than
 * a chat in it, and a distant wallet delays no chat by a whole round trip. Over 16 connections this takes a fifth less CPU than a call for
 * each chat; with 5 ms the isolate has nothing to do for a third of the time, with 1 ms too few chats go together (docs/performance.md).
 */
const joinMs = 2;
/** How long a request waits for a call that another request makes for both: the platform may have ended that request. */
const lateMs = 2_000;
/** Accounts whose last call an isolate remembers. */
const maxLines = 1_000;
/** Whether a request can wake another one. The test runner switches this off: there each call goes alone. */
const canWake = once(() => Cloudflare.compatibilityFlags["handle_cross_request_promise_resolution"] === true);

/** A waiting call, and the function that passes it its answer; undefined if that is not known. */
interface Turn {
  call: ChatCall;
  tell: (answer: boolean | undefined) => void;
}

interface Line {
  waiting: Turn[];
  /** Calls wait until then, and go together. */
  joinsUntil: number;
}

const lines = new Map<string, Line>();

function lineOf(accountId: string): Line {
  let line = lines.get(accountId);
  if (line) return line;
  if (lines.size >= maxLines) lines.clear(); // calls that wait keep their line
  lines.set(accountId, (line = { waiting: [], joinsUntil: 0 }));
  return line;
}

/**
 * Holds an amount in the account's wallet. True once it is held; false if the wallet needs D1 for it or refuses it; undefined if it may
 * still be held. Unless true, repeat it alone.
 */
export async function holdTogether(wallets: Wallets, call: ChatCall, joins = canWake()): Promise<boolean | undefined> {
  const { accountId } = call.charge;
  const line = lineOf(accountId);
  if (joins && Date.now() < line.joinsUntil) {
    const answer = await waitInLine(line, call);
    if (answer !== "go") return answer;
  }
  const turns = line.waiting.splice(0);
  line.joinsUntil = Date.now() + joinMs;
  let answers: boolean[] = [];
  try {
    answers = await wallets.getByName(accountId).chats([call, ...turns.map((turn) => turn.call)]);
  } catch {
    // Each chat repeats its call alone, and reports its faults.
  }
  turns.forEach((turn, at) => turn.tell(answers[at + 1]));
  if (line.waiting.length === 0 && lines.get(accountId) === line) lines.delete(accountId);
  return answers[0];
}

/** Waits for the answer of another request's call, or to make the next one, which takes all others that wait along. */
async function waitInLine(line: Line, call: ChatCall): Promise<boolean | undefined | "go"> {
  const { promise, resolve } = Promise.withResolvers<boolean | undefined>();
  const turn: Turn = { call, tell: resolve };
  const isFirst = line.waiting.push(turn) === 1;
  const answer = await within(isFirst ? line.joinsUntil - Date.now() : lateMs, promise, "late" as const);
  if (answer !== "late") return answer;
  const at = line.waiting.indexOf(turn);
  if (at === -1) return isFirst ? within(lateMs, promise, undefined) : undefined;
  line.waiting.splice(at, 1);
  return "go";
}

/**
 * Resolves like the promise, or to `late` after `ms`. Another request resolves the promise: that is safe only while a timer of this request
 * is pending, because the runtime cancels a request that waits for nothing of its own.
 */
async function within<T, Late>(ms: number, promise: Promise<T>, late: Late): Promise<T | Late> {
  let timer: ReturnType<typeof setTimeout>;
  const timeout = new Promise<Late>((resolve) => (timer = setTimeout(() => resolve(late), ms)));
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer!);
  }
}
