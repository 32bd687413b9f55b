/** The one thing of Node that the runs need, and that the runtime has: which object a call belongs to. */

declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, callback: () => R): R;
    getStore(): T | undefined;
  }
}
