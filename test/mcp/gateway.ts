/** The gateway for tests of /mcp: with the MCP Worker behind it, in the same script. */

export { default as Mcp } from "../../src/mcp/worker.ts";
export { default as Operations } from "../../src/operations/worker.ts";
export * from "../../src/worker.ts";
export { default } from "../../src/worker.ts";
