/** A miniflare plugin that connects an R2 binding to a bucket on another server: see `bucket.ts`. */

interface WorkerOptions {
  config: { env?: Record<string, { type: string; dev?: { options?: { address: string } } }> };
}

const type = "unsafe:outside-bucket";

/** A binding for `unsafeBindings`. */
export const outsideBucket = (name: string, address: string) => ({
  name,
  type: type.slice("unsafe:".length),
  plugin: { package: import.meta.filename, name: "outside-bucket" },
  options: { address },
});

const bucketBindings = ({ config }: WorkerOptions) => Object.entries(config.env ?? {}).filter(([, binding]) => binding.type === type);

/**
 * The plugin that miniflare loads.
 * @public
 */
export const plugins = {
  "outside-bucket": {
    bindingTypeDescription: "R2 bucket elsewhere",
    getBindings: (options: WorkerOptions) =>
      bucketBindings(options).map(([name]) => ({ name, r2Bucket: { name: `outside-bucket:${name}` } })),
    getNodeBindings: () => ({}),
    getServices: ({ options }: { options: WorkerOptions }) =>
      bucketBindings(options).map(([name, { dev }]) => ({
        name: `outside-bucket:${name}`,
        external: { address: dev!.options!.address, http: {} },
      })),
  },
};
