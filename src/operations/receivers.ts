/** Where alerts go, and whether these receivers are configured completely. */

import { VariableError } from "../base/variables.ts";

export type Receiver = "webhook" | "mail";

/** The receivers that the operator named. */
export const listReceivers = ({ ALERT_WEBHOOK, ALERT_MAIL }: { ALERT_WEBHOOK?: string; ALERT_MAIL?: string }): Receiver[] => [
  ...(ALERT_WEBHOOK ? (["webhook"] as const) : []),
  ...(ALERT_MAIL ? (["mail"] as const) : []),
];

/** Where alerts are posted; undefined if they are not. Throws `VariableError`. */
export function alertAddress({ ALERT_WEBHOOK: text }: { ALERT_WEBHOOK?: string }): string | undefined {
  if (text && !/^https?:$/.test(URL.parse(text)?.protocol ?? "")) throw new VariableError("ALERT_WEBHOOK", "must be an http(s) address");
  return text || undefined;
}

/** The secret that signs posted alerts; undefined without one. Throws `VariableError`. */
export function alertSecret({ ALERT_SIGNING_SECRET: secret }: { ALERT_SIGNING_SECRET?: string }): string | undefined {
  if (!secret) return undefined;
  try {
    if (atob(secret.replace(/^whsec_/, "")) !== "") return secret;
  } catch {
    // Not Base64, like an empty text.
  }
  throw new VariableError("ALERT_SIGNING_SECRET", "must be whsec_ followed by Base64");
}

/** Every setting that receivers need. */
type ReceiverSetting = "ALERT_WEBHOOK" | "ALERT_SIGNING_SECRET" | "ALERT_MAIL" | "MAIL" | "MAIL_FROM";

/** A message for each receiver that lacks what it needs; `has` is true for variables, secrets and bindings that are set. */
export const missingForReceivers = (has: (name: ReceiverSetting) => boolean): string[] => [
  ...(has("ALERT_WEBHOOK") && !has("ALERT_SIGNING_SECRET") ? ["ALERT_WEBHOOK needs the secret ALERT_SIGNING_SECRET"] : []),
  ...(has("ALERT_MAIL") && !(has("MAIL") && has("MAIL_FROM")) ? ["ALERT_MAIL needs e-mail: --with email --mail-from ADDRESS"] : []),
];
