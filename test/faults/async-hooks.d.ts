/** The type of AsyncLocalStorage, which the runtime has: it tells which object a call belongs to. */

declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, callback: () => R): R;
    getStore(): T | undefined;
  }
}
