/** Text files as modules, like wrangler bundles them for the Worker. */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

/** For programs that import the gateway's code after this call. */
export const importTextModules = () =>
  void registerHooks({
    load: (url, context, nextLoad) =>
      url.endsWith(".txt")
        ? { format: "module", source: `export default ${JSON.stringify(readFileSync(new URL(url), "utf8"))};`, shortCircuit: true }
        : nextLoad(url, context),
  });
