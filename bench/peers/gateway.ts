/** The gateway as `npm run bench -- peers` runs it. It is never deployed. */

import { useNetwork } from "./network.ts";

useNetwork();

export * from "../../src/worker.ts";
export { default } from "../../src/worker.ts";
