/** Where alerts go, and whether these receivers are configured completely. Also read by `npm run deploy`, before it deploys. */

export type Receiver = "webhook" | "mail";

/** The receivers that the operator named. */
export const listReceivers = ({ ALERT_WEBHOOK, ALERT_MAIL }: { ALERT_WEBHOOK?: string; ALERT_MAIL?: string }): Receiver[] => [
  ...(ALERT_WEBHOOK ? (["webhook"] as const) : []),
  ...(ALERT_MAIL ? (["mail"] as const) : []),
];

/** Every setting that receivers need. */
type ReceiverSetting = "ALERT_WEBHOOK" | "ALERT_SIGNING_SECRET" | "ALERT_MAIL" | "MAIL" | "MAIL_FROM";

/** A message for each receiver that lacks what it needs; `has` is true for variables, secrets and bindings that are set. */
export const missingForReceivers = (has: (name: ReceiverSetting) => boolean): string[] => [
  ...(has("ALERT_WEBHOOK") && !has("ALERT_SIGNING_SECRET") ? ["ALERT_WEBHOOK needs the secret ALERT_SIGNING_SECRET"] : []),
  ...(has("ALERT_MAIL") && !(has("MAIL") && has("MAIL_FROM")) ? ["ALERT_MAIL needs e-mail: --with email --mail-from ADDRESS"] : []),
];
