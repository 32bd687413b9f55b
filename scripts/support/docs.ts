/** Renders the documentation's Markdown with the console's own components: code with language tabs, tables that scroll, notes, links within the site. */

import { readFile } from "node:fs/promises";
import { Marked, type Token, type Tokens } from "marked";
import { escapeHtml, highlight } from "../../src/console/parts/highlight.ts";
import { docPath, pageNames } from "../../src/console/site/contents.ts";

/** A rendered page. In `html`, `{{icons}}` is replaced by the path of the icons. */
export interface RenderedDoc {
  name: string;
  title: string;
  /** The first paragraph, as text. */
  description: string;
  html: string;
  /** Its headings of the second level. */
  sections: { id: string; title: string }[];
}

const docsFolder = new URL("../../src/console/site/docs/", import.meta.url);

const read = (name: string) => readFile(new URL(`${name}.md`, docsFolder), "utf8");

/** Every page, in order, and the request that the landing page shows. */
export async function renderDocs(): Promise<{ pages: RenderedDoc[]; landing: string }> {
  const pages = await Promise.all(pageNames.map(async (name) => renderDoc(name, await read(name))));
  const { html } = renderDoc("landing", await read("landing"));
  return { pages, landing: html.slice(html.indexOf('<div class="code"')) };
}

/** A program of a page: run in the order of the page, or a file that other programs use. */
export interface Sample {
  language: "sh" | "python" | "js";
  file: string | undefined;
  /** The client of a program in Python, such as `openai`: it has an environment of its own (`test/clients/python.ts`). */
  environment: string | undefined;
  code: string;
}

/** Every program of a page, in order. Blocks in other languages are not run. */
export async function readSamples(name: string): Promise<Sample[]> {
  const fences = new Marked().lexer(await read(name)).filter((token): token is Tokens.Code => token.type === "code");
  return fences.flatMap((block) => {
    const { language, file, environment } = fence(block);
    const isProgram = language === "sh" || language === "python" || language === "js";
    return isProgram ? [{ language, file, environment, code: block.text }] : [];
  });
}

const languageTitles: Record<string, string> = { sh: "curl", js: "JavaScript", python: "Python" };

/** What a reader chooses; OpenAI's client stands beside programs without one. */
const toTitle = ({ language, file, environment }: Pick<Sample, "file" | "environment"> & { language: string }) =>
  file ?? (environment === "openai" ? "Python (OpenAI)" : (languageTitles[language] ?? language));

/** The words after a fence: `js receiver.mjs` is a file of that name, `python agno` a program with that client. */
const fence = ({ lang = "" }: Tokens.Code) => {
  const [language = "", word] = lang.split(" ");
  const isFile = word?.includes(".");
  return { language, file: isFile ? word : undefined, environment: isFile ? undefined : word };
};

/** Code without the two braces that begin a placeholder of the page. */
const toCode = (html: string) => html.replaceAll("{{", "{&#123;");

const copyButton = (id: string, title: string) =>
  `<button type="button" class="btn sm" hidden data-copy="${id}" data-copied="{{copied}}" aria-label="{{copy}}: ${escapeHtml(title)}"><svg class="i" aria-hidden="true"><use href="{{icons}}#copy"/></svg>{{copy}}</button>`;

/** The same request in several languages, one shown at a time: with radio buttons, so that it works without script. */
function codeTabs(blocks: Tokens.Code[], id: string): string {
  const titles = blocks.map((block) => toTitle(fence(block)));
  const tabs = blocks.map((block, at) => {
    const { language, environment } = fence(block);
    const value = environment === "openai" ? environment : language;
    const code = `${id}-${value}`;
    const title = escapeHtml(titles.at(at) ?? "");
    return `<label class="lang"><input type="radio" name="${id}" value="${value}"${at === 0 ? " checked" : ""}>${title}</label><div class="panel">${copyButton(code, title)}<pre tabindex="0" aria-label="${title}"><code id="${code}">${toCode(highlight(block.text, language))}</code></pre></div>`;
  });
  return `<div class="code" role="group" aria-label="${escapeHtml(`The request in ${titles.join(", ")}`)}">${tabs.join("")}</div>\n`;
}

/** A block that is not run: an answer, an error, a header. */
const sheet = (block: Tokens.Code) =>
  `<div class="code"><pre tabindex="0" aria-label="Example"><code>${toCode(highlight(block.text, fence(block).language))}</code></pre></div>\n`;

const toText = (tokens: Token[]): string =>
  tokens.map((token) => ("tokens" in token && token.tokens ? toText(token.tokens) : "text" in token ? String(token.text) : "")).join("");

const slug = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");

/** Combines consecutive fences in several languages into one block, because marked passes each one to the renderer separately. */
function joinFences(tokens: Token[]): Token[] {
  const joined: Token[] = [];
  for (const token of tokens) {
    if (token.type === "space") continue;
    const last = joined.at(-1);
    if (token.type === "code" && languageTitles[fence(token as Tokens.Code).language]) {
      const isNext = last?.type === "tabs" && !(last["blocks"] as Tokens.Code[]).some(({ lang }) => lang === token["lang"]);
      if (isNext) (last["blocks"] as Token[]).push(token);
      else joined.push({ type: "tabs", raw: "", blocks: [token] });
    } else joined.push(token);
  }
  return joined;
}

/** Renders one page. Throws for a page without a title or a first paragraph. */
function renderDoc(name: string, markdown: string): RenderedDoc {
  const sections: RenderedDoc["sections"] = [];
  let boxes = 0;
  let heading = "";
  const marked = new Marked({
    extensions: [
      {
        name: "tabs",
        renderer: (token) => codeTabs((token as unknown as { blocks: Tokens.Code[] }).blocks, `code-${++boxes}`),
      },
    ],
    renderer: {
      heading({ tokens, depth }) {
        heading = toText(tokens);
        const id = slug(heading);
        if (depth === 2) sections.push({ id, title: heading });
        const content = this.parser.parseInline(tokens);
        return depth === 1 ? `<h1>${content}</h1>\n` : `<h${depth} id="${id}">${content}</h${depth}>\n`;
      },
      code: (block) => sheet(block),
      codespan: ({ text }) => `<code>${toCode(escapeHtml(text))}</code>`,
      blockquote({ tokens }) {
        return `<div class="note"><svg class="i" aria-hidden="true"><use href="{{icons}}#info"/></svg><div>${this.parser.parse(tokens)}</div></div>\n`;
      },
      list({ ordered, items }) {
        const tag = ordered ? "ol" : "ul";
        return `<${tag} class="${ordered ? "listed" : "dot"}">${items.map((item) => this.listitem(item)).join("")}</${tag}>\n`;
      },
      table({ header, rows }) {
        const cells = (tag: string, row: Tokens.TableCell[]) =>
          row
            .map((cell, at) => {
              const [open, close] = tag === "th" ? ['th scope="col"', "th"] : at === 0 ? ['th scope="row"', "th"] : ["td", "td"];
              return `<${open} class="wrap">${this.parser.parseInline(cell.tokens)}</${close}>`;
            })
            .join("");
        const body = rows.map((row) => `<tr>${cells("td", row)}</tr>`).join("");
        return `<div class="card flush"><div class="table" tabindex="0" role="region" aria-label="${escapeHtml(`${heading}: ${toText(header.at(0)?.tokens ?? [])}`)}"><table><thead><tr>${cells("th", header)}</tr></thead><tbody>${body}</tbody></table></div></div>\n`;
      },
      link({ href, tokens }) {
        const [file = "", anchor] = href.split("#");
        const isPage = file.endsWith(".md");
        const to = isPage ? docPath(file.slice(0, -".md".length)) + (anchor ? `#${anchor}` : "") : href;
        return `<a href="${escapeHtml(to)}">${this.parser.parseInline(tokens)}</a>`;
      },
    },
  });
  const tokens = marked.lexer(markdown);
  const title = tokens.find((token) => token.type === "heading" && token["depth"] === 1);
  const first = tokens.find((token) => token.type === "paragraph");
  if (!title || !first) throw new Error(`${name}.md needs a title and a first paragraph`);
  const html = marked.parser(joinFences(tokens));
  return { name, title: toText((title as Tokens.Heading).tokens), description: toText((first as Tokens.Paragraph).tokens), html, sections };
}
