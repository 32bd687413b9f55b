/** Bindings and variables of the console Worker, typed by hand from its wrangler.toml. */

interface ConsoleEnv {
  DB: D1Database;
  /** "open", "invite" or "closed" */
  SIGNUP: string;
  /** Balance units that a new account may spend */
  SIGNUP_QUOTA: string;
  BALANCE_UNIT: string;
  /** Secret: signs the cookies */
  AUTH_SECRET?: string;
}

declare module "*.css" {
  const text: string;
  export default text;
}
