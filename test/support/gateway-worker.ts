/** The gateway for tests: with the operations Worker behind it, in the same script. */

export { default as Operations } from "../../src/operations/worker.ts";
export * from "../../src/worker.ts";
export { default } from "../../src/worker.ts";
