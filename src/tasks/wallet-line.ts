/** Calls of an account's wallet by the chats of this isolate: while one is under way, further ones wait and go together in the next. */

import { once } from "../catalog/once.ts";
import type { Charge } from "../db/ledger.ts";

/** The namespace of wallet objects. */
interface Wallets {
  getByName(accountId: string): { chats(calls: ChatCall[]): Promise<boolean[]> };
}

/** A reservation, with the time of its release in milliseconds; or a settlement. Amounts in millionths. */
export type ChatCall = { charge: Charge; held: number } & ({ deadline: number } | { charged: number; outcome: string });

/** A call joins those that wait only if the last one was sent so recently: a distant wallet does not delay it by a whole round trip. */
const joinMs = 10;
/** After a call for several chats the next one is sent this long after it at the earliest: a call costs more CPU than a chat in it. */
const gatherMs = 4;
/** Calls gather from this number of chats on: a single caller does not wait for others. */
const several = 3;
/** A call that was not sent or not answered after this time is given up: the request that should have done it may have died. */
const lateMs = 2_000;
const maxTogether = 64;
/** Accounts whose last call an isolate remembers. */
const maxLines = 1_000;
/** Whether a request can wake another one. Otherwise, as in the test runner, each call goes alone. */
const canWake = once(() => Cloudflare.compatibilityFlags["handle_cross_request_promise_resolution"] === true);

/** A waiting call. `tell` passes its answer, undefined if the outcome is unknown, or "go": then it sends all waiting calls together with its own. */
interface Turn {
  call: ChatCall;
  tell: (answer: boolean | undefined | "go") => void;
  /** True if it sends the next call itself when the time of gathering is over. */
  endsGathering: boolean;
}

/** Limits the wait for a promise: resolves to undefined after `ms`. */
interface Within {
  within<T>(ms: number, promise: Promise<T>): Promise<T | undefined>;
}

interface Line {
  waiting: Turn[];
  /** The call that is under way, or about to be sent. */
  last: object | undefined;
  sentAt: number;
  /** The time until which the next call gathers chats. */
  gathersUntil: number;
}

const lines = new Map<string, Line>();

function lineOf(accountId: string): Line {
  let line = lines.get(accountId);
  if (line) return line;
  if (lines.size >= maxLines) lines.clear(); // calls that wait keep their line
  lines.set(accountId, (line = { waiting: [], last: undefined, sentAt: 0, gathersUntil: 0 }));
  return line;
}

/**
 * Makes a call of the account's wallet together with other chats' calls. True once it has taken effect; false if the wallet needs D1 for it or
 * refuses it; undefined if it may still take effect. Unless true, repeat it alone. Each request that is the first to wait sends the next call itself, so that
 * no request does others' work after its own, and none depends on another for longer than `lateMs`.
 */
export async function callTogether(wallets: Wallets, call: ChatCall, watch: Within, joins = canWake()): Promise<boolean | undefined> {
  const { accountId } = call.charge;
  const line = lineOf(accountId);
  const now = Date.now();
  if (joins && ((line.last && now - line.sentAt < joinMs) || now < line.gathersUntil)) {
    const answer = await wait(line, call, watch, now);
    if (answer !== "go") return answer;
  }
  const turns = line.waiting.splice(0, maxTogether - 1);
  const mine = (line.last = turns);
  line.sentAt = Date.now();
  line.gathersUntil = turns.length + 1 >= several ? line.sentAt + gatherMs : 0;
  let answers: (boolean | undefined)[] = [];
  try {
    answers = await wallets.getByName(accountId).chats([call, ...turns.map((turn) => turn.call)]);
  } catch {
    // Each chat repeats its call alone, and reports its faults. Code of the previous version has no such method.
  }
  turns.forEach((turn, at) => turn.tell(answers[at + 1]));
  if (line.last === mine) passOn(accountId, line);
  return answers[0];
}

/** Waits for the answer of another request's call, or to send the next one. The first that waits ends the gathering. */
async function wait(line: Line, call: ChatCall, watch: Within, now: number): Promise<boolean | undefined | "go"> {
  const { promise, resolve } = Promise.withResolvers<boolean | undefined | "go">();
  const turn: Turn = { call, tell: resolve, endsGathering: line.waiting.length === 0 && now < line.gathersUntil };
  line.waiting.push(turn);
  if (turn.endsGathering) {
    const answer = await watch.within(line.gathersUntil - now, promise);
    if (answer !== undefined) return answer;
    if (!line.last && leave(line, turn)) return "go";
  }
  const answer = await watch.within(lateMs, promise);
  if (answer === undefined) {
    leave(line, turn);
    line.last = undefined;
  }
  return answer;
}

/** Lets the first waiting call take the others along, unless it does so itself at the end of the gathering. */
function passOn(accountId: string, line: Line): void {
  const now = Date.now();
  if (now < line.gathersUntil && line.waiting[0]?.endsGathering !== false) {
    line.last = undefined;
    return;
  }
  const next = line.waiting.shift();
  line.last = next;
  line.sentAt = now;
  if (next) next.tell("go");
  else lines.delete(accountId);
}

/** Takes a turn out of those that wait; false if its call was sent. */
function leave(line: Line, turn: Turn): boolean {
  const isWaiting = line.waiting.includes(turn);
  line.waiting = line.waiting.filter((one) => one !== turn);
  return isWaiting;
}
