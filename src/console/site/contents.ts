/** The order of the documentation: groups of pages, each a file in `docs/`. `index` is the first page, at `/docs` itself. */

export const contents = [
  { name: "docs_start", pages: ["index", "keys"] },
  { name: "docs_make", pages: ["chat", "images", "videos", "characters"] },
  {
    name: "docs_guides",
    pages: [
      "tasks",
      "idempotency",
      "files",
      "batches",
      "money",
      "receipts",
      "marks",
      "errors",
      "limits",
      "languages",
      "callbacks",
      "delivery",
      "browser-tokens",
      "openai",
      "agents",
    ],
  },
  {
    name: "docs_use",
    pages: [
      "clients",
      "other-languages",
      "langchain",
      "llamaindex",
      "agents-sdk",
      "pydantic-ai",
      "instructor",
      "agno",
      "ai-sdk",
      "litellm",
      "codex",
      "mcp-clients",
      "open-webui",
      "n8n",
    ],
  },
] as const;

/** Every page's name, in order. */
export const pageNames: readonly string[] = contents.flatMap(({ pages }) => [...pages]);

/** The path of a page. */
export const docPath = (name: string) => (name === "index" ? "/docs" : `/docs/${name}`);
