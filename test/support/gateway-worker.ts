/** The gateway for tests: with the marks, operations and payments Workers behind it, in the same script. */

export { default as Marks } from "../../src/marks/worker.ts";
export { default as Operations } from "../../src/operations/worker.ts";
export { default as Payments } from "../../src/payments/worker.ts";
export * from "../../src/worker.ts";
export { default } from "../../src/worker.ts";
