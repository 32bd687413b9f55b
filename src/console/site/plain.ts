/** Pages for programs: llms.txt (llmstxt.org), robots.txt, the documentation as Markdown. */

import type { ConsoleContext } from "../context.ts";
import { contents, pageNames } from "./contents.ts";
import { pageHead, withBase } from "./docs.ts";
import { markdown } from "./markdown.ts";

const english: Record<(typeof contents)[number]["name"], string> = {
  docs_start: "Start",
  docs_make: "Make",
  docs_guides: "Guides",
  docs_use: "Use it with",
  docs_operate: "Operate it",
};

/** Answers the list of pages for language models, each with its Markdown. */
export function llmsText(c: ConsoleContext): Response {
  const { origin } = new URL(c.req.url);
  const groups = contents.map(({ name, pages }) => {
    const lines = pages.map((page) => {
      const { title, description } = pageHead(page);
      return `- [${title}](${origin}/docs/${page}.md): ${description}`;
    });
    return `## ${english[name]}\n\n${lines.join("\n")}`;
  });
  return c.text(`# Gateway

> One HTTP API for text, images, videos, characters and remixes. Slow work runs as tasks: submit, wait, download. The price is reserved first, and a failed task costs nothing.

The API begins at ${origin}/v1. Every request needs \`Authorization: Bearer <API key>\`; create keys at ${origin}/console. Bodies are JSON.
Errors are \`{"error": {"message", "type", "code", "param", "details"}}\`.

${groups.join("\n\n")}

## Reference

- [OpenAPI 3.1 description](${origin}/openapi.json): every path, body, answer and error, with examples
- [Models](${origin}/docs/models): fields, prices and typical times of each model; for programs \`GET ${origin}/v1/models\`

## Optional

- [Reference pages](${origin}/docs/reference): the description as pages for people
- [Agents](${origin}/mcp): tools for agents, by the Model Context Protocol
`);
}

/** Answers which pages search engines may read. Files are signed and short-lived, and the console needs a login. */
export const robotsText = (c: ConsoleContext): Response =>
  c.text("User-agent: *\nAllow: /\nDisallow: /admin\nDisallow: /assets\nDisallow: /characters\nDisallow: /console\nDisallow: /v1\n");

/** A page as Markdown, with this gateway's URL in its samples; undefined for unknown names. */
export function markdownPage(c: ConsoleContext, name: string): Response | undefined {
  const text = pageNames.includes(name) ? markdown[name] : undefined;
  return text === undefined ? undefined : c.body(withBase(c, text), 200, { "content-type": "text/markdown; charset=utf-8" });
}
