/** The client of the gateway, its errors, helpers for files, the checks of webhooks and receipts, and the API's types. */

export {
  type CreateChat,
  Gateway,
  Gateway as default,
  type GenerateOptions,
  type RemixBody,
  type SubmitOptions,
  type VideoBody,
  type WaitOptions,
  type WithFiles,
} from "./gateway.js";
export type { GatewayOptions, Logger, RequestOptions } from "./http.js";
export * from "./errors.js";
export { Download, file, toFile } from "./files.js";
export { List, type Page, type ServerEvent, Stream } from "./streams.js";
export { verifyWebhook, verifyReceipt } from "./verify.js";
export type * from "./generated/types.gen.js";
