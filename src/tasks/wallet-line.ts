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
/** A call that was not sent or not answered after this time is given up: the request that should have done it may have died. */
const lateMs = 2_000;
const maxTogether = 64;
/** Whether a request can wake another one. Otherwise, as in the test runner, each call goes alone. */
const canWake = once(() => Cloudflare.compatibilityFlags["handle_cross_request_promise_resolution"] === true);

/** A waiting call. `tell` passes its answer, undefined if the outcome is unknown, or "go": then it sends all waiting calls together with its own. */
interface Turn {
  call: ChatCall;
  tell: (answer: boolean | undefined | "go") => void;
}

/** Limits the wait for a promise: resolves to undefined after `ms`. */
interface Within {
  within<T>(ms: number, promise: Promise<T>): Promise<T | undefined>;
}

interface Line {
  waiting: Turn[];
  /** The last call that was sent, or is about to be. */
  last: object | undefined;
  sentAt: number;
}

const lines = new Map<string, Line>();

/**
 * Makes a call of the account's wallet together with other chats' calls. True once it has taken effect; false if the wallet needs D1 for it or
 * refuses it; undefined if it may still take effect. Unless true, repeat it alone. Each request that is the first to wait sends the next call itself, so that
 * no request does others' work after its own, and none depends on another for longer than `lateMs`.
 */
export async function callTogether(wallets: Wallets, call: ChatCall, watch: Within, joins = canWake()): Promise<boolean | undefined> {
  const { accountId } = call.charge;
  let line = lines.get(accountId);
  if (!line) lines.set(accountId, (line = { waiting: [], last: undefined, sentAt: 0 }));
  if (joins && line.last && Date.now() - line.sentAt < joinMs) {
    const { promise, resolve } = Promise.withResolvers<boolean | undefined | "go">();
    const turn = { call, tell: resolve };
    line.waiting.push(turn);
    const answer = await watch.within(lateMs, promise);
    if (answer === undefined) giveUp(line, turn);
    if (answer !== "go") return answer;
  }
  const turns = line.waiting.splice(0, maxTogether - 1);
  const mine = (line.last = turns);
  line.sentAt = Date.now();
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

/** Lets the first waiting call take the others along. */
function passOn(accountId: string, line: Line): void {
  const next = line.waiting.shift();
  line.last = next;
  line.sentAt = Date.now();
  if (next) next.tell("go");
  else lines.delete(accountId);
}

function giveUp(line: Line, turn: Turn): void {
  line.waiting = line.waiting.filter((one) => one !== turn);
  line.last = undefined;
}
