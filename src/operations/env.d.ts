/** Bindings and variables of the operations Worker, typed by hand from its wrangler.toml. */

interface OperationsBindings {
  DB: D1Database;
  ASSETS: R2Bucket;
  /** How many days the audit log is kept; default 400 */
  AUDIT_DAYS?: string;
  /** The maximum size of the database in megabytes, above which writes fail; default 10000 */
  DATABASE_MAX_MB?: string;
  /** After how many days a settled entry is archived; default 35, from 9 to 365 */
  LEDGER_DAYS?: string;
  /** The size of the database in megabytes above which entries are archived as early as possible; default 2500 */
  LEDGER_MAX_MB?: string;
  /** The URL to which alerts are posted */
  ALERT_WEBHOOK?: string;
  /** Secret: `whsec_` and Base64; signs alerts in the format of Standard Webhooks */
  ALERT_SIGNING_SECRET?: string;
  /** Secret: the previous one during a rotation; alerts are signed with both */
  ALERT_SIGNING_SECRET_OLD?: string;
  /** The e-mail address to which alerts are sent */
  ALERT_MAIL?: string;
  /** Sends e-mail from MAIL_FROM */
  MAIL?: SendEmail;
  MAIL_FROM?: string;
}
