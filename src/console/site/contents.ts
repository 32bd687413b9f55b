/**
 * The order of the documentation: groups of pages, each a file in `docs/`; `operate/...` are files of the repository's `docs/`. `index` is the
 * first page, at `/docs` itself.
 */

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
      "webhooks",
      "delivery",
      "client-tokens",
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
  {
    name: "docs_operate",
    pages: [
      "operate/deploy",
      "operate/configuration",
      "operate/providers",
      "operate/models",
      "operate/console",
      "operate/operations",
      "changelog",
    ],
  },
] as const;

/** Every page's name, in order. */
export const pageNames: readonly string[] = contents.flatMap(({ pages }) => [...pages]);

/** The path of a page. */
export const docPath = (name: string) => (name === "index" ? "/docs" : `/docs/${name}`);

/** The file of a page in the repository. */
export function pageFile(name: string): string {
  if (name === "changelog") return "CHANGELOG.md";
  return name.startsWith("operate/") ? `docs/${name.slice("operate/".length)}.md` : `src/console/site/docs/${name}.md`;
}

const names = new Map(pageNames.map((name) => [pageFile(name), name]));

/** Finds the documentation page that is rendered from a file of the repository. Returns its name, or undefined if the file is not a page. */
export const pageOfFile = (file: string): string | undefined => names.get(file);

/** The addresses of earlier releases, and where these pages are now. */
export const moved: Readonly<Record<string, string>> = {
  "/docs/callbacks": "/docs/webhooks",
  "/docs/browser-tokens": "/docs/client-tokens",
  "/docs/reference/callbacks": "/docs/reference/webhooks",
};
