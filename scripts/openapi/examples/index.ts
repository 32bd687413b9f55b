/** The examples that several operations share. */

export * from "./accounts.ts";
export * from "./callbacks.ts";
export { ids, page } from "./common.ts";
export * from "./receipts.ts";
export * from "./tasks.ts";
