/** Preloaded into scripts that import the gateway's code (`node --import`): text files are imported as modules, like wrangler bundles them for the Worker. */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

registerHooks({
  load: (url, context, nextLoad) =>
    url.endsWith(".txt")
      ? { format: "module", source: `export default ${JSON.stringify(readFileSync(new URL(url), "utf8"))};`, shortCircuit: true }
      : nextLoad(url, context),
});
