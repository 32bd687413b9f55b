/** The whole API as generated functions and types, and functions that combine them. */

export * from "./generated/index.js";
export { createClient } from "./generated/client/index.js";
export { connect, download, GatewayError, type GatewayFile, submitAndWait, type SubmitOptions, TaskFailed, waitForTask } from "./tasks.js";
export { verifyCallback, verifyReceipt } from "./verify.js";
