/** The files that are made from others without a gateway, each after those that it reads. Import it after `importTextModules`. */

interface Generated {
  /** Relative to the root. */
  file: string;
  make: () => Promise<string>;
}

export const generated: Record<string, Generated> = {
  messages: { file: "src/messages/translations.txt", make: async () => (await import("./messages.ts")).translations() },
  credentials: {
    file: "src/console/client/credentials.js",
    make: async () => (await import("./client-credentials.ts")).clientCredentials(),
  },
  parameters: {
    file: "src/catalog/parameters.txt",
    make: async () => JSON.stringify((await import("./parameters.ts")).parameterSchemas()),
  },
  openapi: { file: "src/console/site/openapi.json", make: async () => (await import("../openapi/document.ts")).descriptionText() },
  site: {
    file: "src/console/search/docs-index.txt",
    make: async () => (await import("./docs-search.ts")).docsSearch(await (await import("./docs.ts")).renderDocs()),
  },
};
