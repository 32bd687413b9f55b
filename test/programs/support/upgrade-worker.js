/** A revision of the gateway for the upgrade test: its own code, with a clock that can be advanced and a wallet that can refuse. */

import { DurableObject, env } from "cloudflare:workers";
// oxlint-disable-next-line import/no-unresolved -- the bundle of the revision, beside this file in the runtime
import gateway, * as classes from "./worker.js";

const shiftMs = env.CLOCK_SHIFT_MS;
const realNow = Date.now.bind(Date);
Date.now = () => realNow() + shiftMs;

/** The object's alarms are set for the advanced clock; one that was set before the clock was advanced is due. */
function moveAlarms(ctx) {
  const { storage } = ctx;
  const setAlarm = storage.setAlarm.bind(storage);
  const getAlarm = storage.getAlarm.bind(storage);
  storage.setAlarm = (at, options) => setAlarm(Number(at) - shiftMs, options);
  storage.getAlarm = async () => {
    const at = await getAlarm();
    return at === null ? null : at + shiftMs;
  };
  void ctx.blockConcurrencyWhile(async () => {
    if ((await getAlarm()) !== null) await setAlarm(realNow());
  });
}

export class TaskObject extends classes.TaskObject {
  constructor(ctx, given) {
    moveAlarms(ctx);
    super(ctx, given);
  }
}

export class WalletObject extends classes.WalletObject {
  constructor(ctx, given) {
    moveAlarms(ctx);
    super(ctx, given);
  }

  async settle(charge, ...rest) {
    if (charge.model === env.UNSETTLED_MODEL) throw new Error("the test refuses this settlement");
    return super.settle(charge, ...rest);
  }
}

export { ClaimObject, TokenObject } from "./worker.js";

/** The methods of each object that can be called from outside, with the number of arguments that they need. */
const calls = () =>
  Object.fromEntries(
    Object.entries(classes).flatMap(([name, { prototype }]) =>
      prototype instanceof DurableObject
        ? Object.getOwnPropertyNames(prototype)
            .filter((method) => method !== "constructor")
            .map((method) => [`${name}.${method}`, prototype[method].length])
        : [],
    ),
  );

export default {
  ...gateway,
  /** The gateway, and for the test its objects' methods and the contents of an account's wallet. */
  async fetch(request, given, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/calls") return Response.json(calls());
    if (!pathname.startsWith("/audit/")) return gateway.fetch(request, given, ctx);
    return Response.json(await given.WALLETS.getByName(pathname.slice("/audit/".length)).audit());
  },
};
