/** The type of the runtime's AsyncLocalStorage: it identifies the object that a call belongs to. */

declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, callback: () => R): R;
    getStore(): T | undefined;
  }
}
