/** The gateway as tests of /mcp run it: with the MCP Worker behind it, in the same script. */

export { default as Mcp } from "../../src/mcp/worker.ts";
export * from "../support/gateway-worker.ts";
export { default } from "../support/gateway-worker.ts";
