/**
 * Two miniflare plugins. `outside-bucket` connects an R2 binding to a bucket on another server (`large-body/bucket.ts`). `local-limit` counts
 * rate limits within the isolate, like the platform counts on the machine: the simulator writes each request to an object's SQLite.
 */

interface WorkerOptions {
  config: { env?: Record<string, { type: string; dev?: { options?: { address?: string; limit?: number } } }> };
}

/** A binding for `unsafeBindings`. */
const toBinding = (plugin: string, name: string, options: Record<string, string | number>) => ({
  name,
  type: plugin,
  plugin: { package: import.meta.filename, name: plugin },
  options,
});

/** A bucket at this host and port. */
export const outsideBucket = (name: string, address: string) => toBinding("outside-bucket", name, { address });

/** This many requests per key and minute. */
export const localLimit = (name: string, limit: number) => toBinding("local-limit", name, { limit });

const findBindings = (plugin: string, { config }: WorkerOptions) =>
  Object.entries(config.env ?? {}).flatMap(([name, { type, dev }]) => (type === `unsafe:${plugin}` ? [{ name, ...dev?.options }] : []));

const moduleName = "bench-internal:limits";
const limits = `
export default ({ limit }) => {
  let minute = 0;
  const counts = new Map();
  return {
    async limit({ key }) {
      const now = Math.floor(Date.now() / 60_000);
      if (now !== minute) counts.clear();
      minute = now;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return { success: count <= limit };
    },
  };
};
`;

/**
 * The plugins that miniflare loads.
 * @public
 */
export const plugins = {
  "outside-bucket": {
    bindingTypeDescription: "R2 bucket elsewhere",
    getBindings: (options: WorkerOptions) =>
      findBindings("outside-bucket", options).map(({ name }) => ({ name, r2Bucket: { name: `outside-bucket:${name}` } })),
    getNodeBindings: () => ({}),
    getServices: ({ options }: { options: WorkerOptions }) =>
      findBindings("outside-bucket", options).map(({ name, address }) => ({
        name: `outside-bucket:${name}`,
        external: { address, http: {} },
      })),
  },
  "local-limit": {
    bindingTypeDescription: "Rate limit within the isolate",
    getBindings: (options: WorkerOptions) =>
      findBindings("local-limit", options).map(({ name, limit }) => ({
        name,
        wrapped: { moduleName, innerBindings: [{ name: "limit", json: JSON.stringify(limit) }] },
      })),
    getNodeBindings: () => ({}),
    getServices: () => [],
    getExtensions: ({ options }: { options: WorkerOptions[] }) =>
      options.some((one) => findBindings("local-limit", one).length > 0)
        ? [{ modules: [{ name: moduleName, esModule: limits, internal: true }] }]
        : [],
  },
};
