/** The gateway's router: hono's trie alone. Its second router would add 4 KB to the script and be compiled at each start. */

import { HonoBase, type HonoOptions } from "hono/hono-base";
import type { Result } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";
import type { AppEnv } from "./frame.ts";

/** The trie, which remembers what it found for paths without parameters. */
class Router<T> extends TrieRouter<T> {
  readonly #fixed = new Set<string>();
  readonly #found = new Map<string, Result<T>>();

  override add(method: string, path: string, handler: T): void {
    if (!/[:*]/.test(path)) this.#fixed.add(path);
    super.add(method, path, handler);
  }

  override match(method: string, path: string): Result<T> {
    if (!this.#fixed.has(path)) return super.match(method, path);
    const key = `${method} ${path}`;
    let found = this.#found.get(key);
    if (!found) this.#found.set(key, (found = super.match(method, path)));
    return found;
  }
}

/** An empty set of routes; with `strict: false` a path with a trailing slash is the same path. */
export const routing = (options: Pick<HonoOptions<AppEnv>, "strict"> = {}) => new HonoBase<AppEnv>({ ...options, router: new Router() });
