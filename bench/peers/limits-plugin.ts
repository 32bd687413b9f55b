/** A miniflare plugin for rate limits that count within the isolate, like the platform counts on the machine: the simulator writes each request to an object's SQLite. */

interface WorkerOptions {
  config: { env?: Record<string, { type: string; dev?: { options?: { limit: number } } }> };
}

const type = "unsafe:local-limit";
const moduleName = "bench-internal:limits";
const module = `
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

/** A binding for `unsafeBindings`: this many requests per key and minute. */
export const localLimit = (name: string, limit: number) => ({
  name,
  type: type.slice("unsafe:".length),
  plugin: { package: import.meta.filename, name: "local-limits" },
  options: { limit },
});

const limitBindings = ({ config }: WorkerOptions) => Object.entries(config.env ?? {}).filter(([, binding]) => binding.type === type);

/**
 * The plugin that miniflare loads.
 * @public
 */
export const plugins = {
  "local-limits": {
    bindingTypeDescription: "Rate limit within the isolate",
    getBindings: (options: WorkerOptions) =>
      limitBindings(options).map(([name, { dev }]) => ({
        name,
        wrapped: { moduleName, innerBindings: [{ name: "limit", json: JSON.stringify(dev!.options!.limit) }] },
      })),
    getNodeBindings: () => ({}),
    getServices: () => [],
    getExtensions: ({ options }: { options: WorkerOptions[] }) =>
      options.some((one) => limitBindings(one).length > 0) ? [{ modules: [{ name: moduleName, esModule: module, internal: true }] }] : [],
  },
};
