/** The gateway's router: hono's trie alone, with its recent matches. Its second router would add 4 KB to the script and be compiled at each start. */

import { HonoBase, type HonoOptions } from "hono/hono-base";
import type { Result } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";
import { BoundedCache } from "../bounded-cache.ts";
import type { AppEnv } from "./frame.ts";

/** The size of a match beside its path, in characters. */
const matchSize = 200;

/** Callers poll the same task and read a file in ranges: walking the trie takes longer than finding the last match. */
class RecentRouter<T> extends TrieRouter<T> {
  readonly #recent = new BoundedCache<Result<T>>(1024 * 1024);
  /** Routes that are not in the trie yet: it is built for the first request, and never for routes that are only mounted elsewhere. */
  readonly #added: [method: string, path: string, handler: T][] = [];

  override add(method: string, path: string, handler: T): void {
    this.#added.push([method, path, handler]);
  }

  override match(method: string, path: string): Result<T> {
    const asked = method + path;
    let found = this.#recent.get(asked);
    if (!found) {
      for (const added of this.#added.splice(0)) super.add(...added);
      this.#recent.set(asked, (found = super.match(method, path)), matchSize);
    }
    return found;
  }
}

/** An empty set of routes; with `strict: false` a path with a trailing slash is the same path. */
export const routing = (options: Pick<HonoOptions<AppEnv>, "strict"> = {}) =>
  new HonoBase<AppEnv>({ ...options, router: new RecentRouter() });
