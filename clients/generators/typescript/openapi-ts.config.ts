import { defineConfig } from "@hey-api/openapi-ts";

export default defineConfig({
  input: "../../../src/console/site/openapi.json",
  output: { path: "generated", module: { extension: ".js" } },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
});
