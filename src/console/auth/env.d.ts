/** Bindings and variables of the auth Worker, typed by hand from its wrangler.toml. */

interface AuthEnv {
  DB: ConsoleEnv["DB"];
  /** Sends e-mail from MAIL_FROM */
  MAIL?: SendEmail;
  MAIL_FROM?: string;
}
