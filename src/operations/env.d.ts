/** Bindings and variables of the operations Worker, typed by hand from its wrangler.toml. */

interface OperationsBindings {
  DB: D1Database;
  ASSETS: R2Bucket;
  /** The size in megabytes at which the database takes no more writes; default 10000 */
  DATABASE_MAX_MB?: string;
  /** After how many days a settled entry is archived; default 35, from 9 to 365 */
  LEDGER_DAYS?: string;
  /** The size of the database in megabytes above which entries are archived as soon as they can be; default 2500 */
  LEDGER_MAX_MB?: string;
  /** Where alerts are posted */
  ALERT_WEBHOOK?: string;
  /** Secret: `whsec_` and Base64; signs alerts by Standard Webhooks */
  ALERT_SIGNING_SECRET?: string;
  /** The address that alerts are sent to */
  ALERT_MAIL?: string;
  /** Sends e-mail from MAIL_FROM */
  MAIL?: SendEmail;
  MAIL_FROM?: string;
}
