/** The operations Worker with a clock that can be moved on. */

import { env } from "cloudflare:workers";
// oxlint-disable-next-line import/no-unresolved -- the bundle of the revision, beside this file in the runtime
export { default } from "./worker.js";

const realNow = Date.now.bind(Date);
Date.now = () => realNow() + env.CLOCK_SHIFT_MS;
