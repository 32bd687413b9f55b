/** Bindings and variables of the console Worker, typed by hand from its wrangler.toml. */

interface ConsoleEnv {
  DB: D1Database;
  /** The gateway's bucket: outputs are read for thumbnails and downloads, and thumbnails are stored beside them */
  ASSETS: R2Bucket;
  /** The limits of a minute, see `request-limits.ts` */
  PAGES: RateLimit;
  FORMS: RateLimit;
  VISITS: RateLimit;
  /** The auth Worker */
  AUTH: import("./auth/contract.ts").AuthWorker;
  /** Makes thumbnails of images; without it the images themselves are shown */
  IMAGES?: ImagesBinding;
  /** Makes frames of videos; without it the first browser that shows a video makes one */
  MEDIA?: MediaBinding;
  /** "open", "invite" or "closed" */
  SIGNUP: string;
  /** The quota of a new account in balance units */
  SIGNUP_QUOTA: string;
  BALANCE_UNIT: string;
  /** The base URL of assets, as configured for the gateway; the gateway's own host by default */
  ASSET_BASE_URL?: string;
  /** Secret: signs the cookies */
  AUTH_SECRET?: string;
  /** Secrets: each pair switches a linked login on */
  GITHUB_CLIENT_ID?: string;
  GITHUB_CLIENT_SECRET?: string;
  GOOGLE_CLIENT_ID?: string;
  GOOGLE_CLIENT_SECRET?: string;
  /** The OpenID provider for single sign-on; its secret is one */
  OIDC_ISSUER?: string;
  OIDC_CLIENT_ID?: string;
  OIDC_CLIENT_SECRET?: string;
  /** The scopes that are asked for: "openid profile email" by default */
  OIDC_SCOPES?: string;
  /** A table, or JSON: the account and the role of each group of the provider */
  OIDC_GROUPS?: unknown;
  /** "oidc": no password, passkey or other login is accepted */
  SIGN_IN?: string;
  /** Where people open the console, for the buttons of e-mails */
  CONSOLE_URL?: string;
  /** The repository of the documentation's files, for links to edit its pages */
  REPOSITORY_URL?: string;
  /** Sends e-mail from MAIL_FROM */
  MAIL?: SendEmail;
  MAIL_FROM?: string;
}

/** Browser scripts are imported as text, see wrangler.toml. */
declare module "*.js" {
  const text: string;
  export default text;
}

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "*.svg" {
  const text: string;
  export default text;
}

declare module "*.md" {
  const text: string;
  export default text;
}

/** Fonts, images and videos are bytes. */
declare module "*.woff2" {
  const bytes: ArrayBuffer;
  export default bytes;
}

declare module "*.webp" {
  const bytes: ArrayBuffer;
  export default bytes;
}

declare module "*.png" {
  const bytes: ArrayBuffer;
  export default bytes;
}

declare module "*.mp4" {
  const bytes: ArrayBuffer;
  export default bytes;
}
