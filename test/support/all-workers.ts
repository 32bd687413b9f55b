/** The gateway with the Workers behind `/openai`, `/mcp` and the operator's paths, in the same script. */

export { default as Mcp } from "../../src/facades/mcp/worker.ts";
export { AttemptObject, default as OpenAi } from "../../src/facades/openai/worker.ts";
export { default as Marks } from "../../src/marks/worker.ts";
export { default as Operations } from "../../src/operations/worker.ts";
export { default as Payments } from "../../src/payments/worker.ts";
export * from "../../src/worker.ts";
export { default } from "../../src/worker.ts";
