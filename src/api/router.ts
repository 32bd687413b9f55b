/** The gateway's router: hono's trie alone. Its second router would add 4 KB to the script and be compiled at each start. */

import { HonoBase, type HonoOptions } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { AppEnv } from "./frame.ts";

/** An empty set of routes; with `strict: false` a path with a trailing slash is the same path. */
export const routing = (options: Pick<HonoOptions<AppEnv>, "strict"> = {}) =>
  new HonoBase<AppEnv>({ ...options, router: new TrieRouter() });
