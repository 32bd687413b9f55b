/** The error that ends a deployment, with the operator's remedy. */

/** Ends the run with a reason and a remedy. */
export class Stop extends Error {
  override readonly name = "Stop";
  readonly remedy: string;

  constructor(reason: string, remedy: string) {
    super(reason);
    this.remedy = remedy;
  }
}

const paidPlan =
  'Open the Cloudflare dashboard, "Workers & Pages", "Plans", and choose Workers Paid (5 USD a month). To try the gateway without it, run again with --free.';

const isRefused = [
  "Cloudflare refused the credentials.",
  'Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to a valid token (dashboard, "My Profile", "API Tokens", template "Edit Cloudflare Workers", with D1, Queues and Workers R2 Storage set to "Edit").',
] as const;

const isFree = ["The account is on the Workers Free plan, which ends requests after 10 ms of CPU time.", paidPlan] as const;

/** Messages for the API's error codes that are typical of a new account. */
const known: Record<number, readonly [reason: string, remedy: string]> = {
  10042: [
    "R2, Cloudflare's file storage, is not enabled on this account.",
    'Open the Cloudflare dashboard, "Storage & databases", "R2", and choose "Enable" (it asks for a payment method; the first 10 GB cost nothing). Then run this command again.',
  ],
  10063: [
    "The account has no workers.dev subdomain.",
    'Open the Cloudflare dashboard, "Workers & Pages", and choose a subdomain there, or give a host of your own with --domain.',
  ],
  100328: isFree,
  10000: isRefused,
  9109: isRefused,
  1000: isRefused,
  // A token of the wrong form.
  6003: isRefused,
};

/** The reason and remedy for a code of Cloudflare's API, or undefined for other codes. */
export const stopFor = (code: number | undefined): Stop | undefined =>
  code !== undefined && known[code] ? new Stop(...known[code]) : undefined;

/** True for the codes with which the API refuses credentials, or what they may not do. */
export const isRefusal = (code: number): boolean => known[code] === isRefused;

/** The account is on the Free plan. */
export const freePlan = (): Stop => new Stop(...isFree);
