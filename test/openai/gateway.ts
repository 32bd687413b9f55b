/** The gateway as tests of /openai/v1 run it: with the OpenAI Worker behind it, in the same script. */

export { AttemptObject, default as OpenAi } from "../../src/openai/worker.ts";
export * from "../support/gateway-worker.ts";
export { default } from "../support/gateway-worker.ts";
