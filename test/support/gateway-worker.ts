/** The gateway for tests: with the marks and operations Workers behind it, in the same script. */

export { default as Marks } from "../../src/marks/worker.ts";
export { default as Operations } from "../../src/operations/worker.ts";
export * from "../../src/worker.ts";
export { default } from "../../src/worker.ts";
