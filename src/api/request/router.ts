/** The router of the gateway's paths: those without parameters are found in a table, and the others by hono's. */

import type { Result, Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";

/**
 * hono's own choice for our paths walks through the parts of each, because some of them are ambiguous (`/v1/videos/:id/remix` and
 * `/v1/videos/generations/:id`). A path without parameters belongs to the route that names it.
 */
export class TableRouter<T> implements Router<T> {
  name = "TableRouter";
  readonly #table = new Map<string, Result<T>>();
  readonly #others = new TrieRouter<T>();

  add(method: string, path: string, handler: T): void {
    if (!/[:*]/.test(path) && !this.#table.has(`${method} ${path}`)) this.#table.set(`${method} ${path}`, [[[handler, {}]]]);
    this.#others.add(method, path, handler);
  }

  match(method: string, path: string): Result<T> {
    return this.#table.get(`${method} ${path}`) ?? this.#others.match(method, path);
  }
}
