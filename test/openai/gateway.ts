/** The gateway for tests of /openai/v1: with the OpenAI Worker behind it, in the same script. */

export { AttemptObject, default as OpenAi } from "../../src/openai/worker.ts";
export { default as Operations } from "../../src/operations/worker.ts";
export * from "../../src/worker.ts";
export { default } from "../../src/worker.ts";
