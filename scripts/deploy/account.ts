/** The account of a run, found by the operator's credentials. */

import * as z from "zod/mini";
import { parseJson } from "../support/faults.ts";
import { CloudflareApi, type Credentials } from "./api.ts";
import type { Run } from "./run.ts";
import { Stop } from "./stop.ts";

/** The account of the deployment. */
export interface Account {
  id: string;
  name: string;
  api: CloudflareApi;
  /** The user's e-mail address, if the credentials may read it. */
  email: string | undefined;
}

const tokens = z.union([
  z.object({ type: z.literal("api_key"), key: z.string(), email: z.string() }),
  z.object({ type: z.string(), token: z.string() }),
]);
/** Things of an account, by id and name. */
export const named = z.array(z.object({ id: z.string(), name: z.string() }));

/** Finds the credentials and their account. */
export async function findAccount(run: Run, environment: NodeJS.ProcessEnv): Promise<Account> {
  const api = new CloudflareApi(await credentials(run, environment));
  const wanted = environment["CLOUDFLARE_ACCOUNT_ID"];
  const accounts = await api.list("/accounts", named);
  const account = wanted ? accounts.find(({ id }) => id === wanted) : accounts[0];
  if (wanted && !account)
    throw new Stop(
      `CLOUDFLARE_ACCOUNT_ID is ${wanted}, which is not among the accounts of these credentials.`,
      accounts.length > 0 ? `Set it to ${list(accounts)}.` : "Give the token access to that account.",
    );
  if (!account)
    throw new Stop("These credentials reach no account.", 'Give the token "Account Settings: Read" for the account to deploy to.');
  if (!wanted && accounts.length > 1)
    throw new Stop("These credentials reach several accounts.", `Set CLOUDFLARE_ACCOUNT_ID to one of them: ${list(accounts)}.`);
  const user = await api.find("/user", z.object({ email: z.optional(z.string()) }), true);
  return { ...account, api, email: user?.email };
}

const maxListed = 10;

function list(accounts: z.infer<typeof named>): string {
  const listed = accounts.slice(0, maxListed).map(({ id, name }) => `${id} (${name})`);
  return [...listed, ...(accounts.length > maxListed ? [`one of ${accounts.length - maxListed} more`] : [])].join(" or ");
}

/** A token from the environment, or that of `wrangler login`. */
async function credentials(run: Run, environment: NodeJS.ProcessEnv): Promise<Credentials> {
  const token = environment["CLOUDFLARE_API_TOKEN"];
  if (token) {
    run.hide(token);
    if (!/^[\x21-\x7e]+$/.test(token.trim()))
      throw new Stop(
        "CLOUDFLARE_API_TOKEN contains a character that no token has, for example a space or a line break.",
        "Copy the token again, as one piece.",
      );
    return { authorization: `Bearer ${token.trim()}` };
  }
  const output = await run.credentials().catch(() => "");
  const found = tokens.safeParse(parseJson(output.slice(output.indexOf("{")))).data;
  if (!found)
    throw new Stop(
      "There are no credentials for Cloudflare.",
      'Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to a token (dashboard, "My Profile", "API Tokens", template "Edit Cloudflare Workers", with D1, Queues and Workers R2 Storage set to "Edit").',
    );
  if ("key" in found) {
    run.hide(found.key);
    return { "x-auth-key": found.key, "x-auth-email": found.email };
  }
  run.hide(found.token);
  return { authorization: `Bearer ${found.token}` };
}
