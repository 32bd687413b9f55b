/** Renders the documentation's Markdown with the console's own components: code with language tabs, tables that scroll, notes, links within the site. */

import { Lexer, Marked, type Token, type Tokens } from "marked";
import { escapeHtml, highlight } from "../parts/highlight.ts";
import { docPath, pageFile, pageOfFile } from "./contents.ts";

/** The title and first paragraph of a page, as text. */
export interface Head {
  title: string;
  description: string;
}

/**
 * A rendered page. In `html`, `{{icons}}`, `{{copy}}` and `{{copied}}` are replaced by the path of the icons and the words of the copy button,
 * and `{{repository}}` by the address of the repository's files, or the link by its text.
 */
export interface Doc extends Head {
  name: string;
  html: string;
  /** Its headings of the second level. */
  sections: { id: string; title: string }[];
}

const languageTitles: Record<string, string> = { sh: "Shell", js: "JavaScript", python: "Python" };

/** What a reader chooses; OpenAI's client stands beside programs without one. */
function toTitle(block: Tokens.Code): string {
  const { language, file, environment } = fence(block);
  if (language === "sh" && block.text.includes("curl ")) return "curl";
  return file ?? (environment === "openai" ? "Python (OpenAI)" : (languageTitles[language] ?? language));
}

/** The words after a fence: `js receiver.mjs` is a file of that name, `python agno` a program with that client. */
export const fence = ({ lang = "" }: Tokens.Code) => {
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
  const titles = blocks.map(toTitle);
  const tabs = blocks.map((block, at) => {
    const { language, environment } = fence(block);
    const value = environment === "openai" ? environment : language;
    const code = `${id}-${value}`;
    const title = escapeHtml(titles.at(at) ?? "");
    return `<label class="lang"><input type="radio" name="${id}" value="${value}"${at === 0 ? " checked" : ""}>${title}</label><div class="panel">${copyButton(code, title)}<pre tabindex="0" aria-label="${title}"><code id="${code}">${toCode(highlight(block.text, language))}</code></pre></div>`;
  });
  return `<div class="code" role="group" aria-label="${escapeHtml(`The request in ${titles.join(", ")}`)}">${tabs.join("")}</div>\n`;
}

/** A block that is not run: an answer, an error, a configuration. */
const sheet = (block: Tokens.Code, id: string) =>
  `<div class="code plain">${copyButton(id, "Example")}<pre tabindex="0" aria-label="Example"><code id="${id}">${toCode(highlight(block.text, fence(block).language))}</code></pre></div>\n`;

const toText = (tokens: Token[]): string =>
  tokens.map((token) => ("tokens" in token && token.tokens ? toText(token.tokens) : "text" in token ? String(token.text) : "")).join("");

const slug = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_]+/gu, "-")
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

/** The title and first paragraph of a page. Throws for a page without them. */
export function readHead(markdown: string): Head {
  const tokens = new Lexer().lex(markdown.split("\n\n", 2).join("\n\n"));
  const title = tokens.find((token) => token.type === "heading");
  const first = tokens.find((token) => token.type === "paragraph");
  if (!title || !first) throw new Error(`a page begins with a title and a paragraph: ${markdown.slice(0, 80)}`);
  return { title: toText([title]), description: toText([first]) };
}

/** Where a link of a file leads: to a page, below the address of the repository, or elsewhere. */
function toAddress(href: string, file: string): string {
  if (/^(?:#|\w+:)/.test(href)) return href;
  const { pathname, hash } = new URL(href, `file:///${file}`);
  const page = pageOfFile(pathname.slice(1));
  return page === undefined ? `{{repository}}${pathname}${hash}` : docPath(page) + hash;
}

/** Renders a page by its name and Markdown. */
export function renderDoc(name: string, markdown: string): Doc {
  const sections: Doc["sections"] = [];
  const slugs = new Map<string, number>();
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
        const plain = slug(heading);
        const times = (slugs.get(plain) ?? 0) + 1;
        slugs.set(plain, times);
        const id = times === 1 ? plain : `${plain}-${times}`;
        if (depth === 2) sections.push({ id, title: heading });
        const content = this.parser.parseInline(tokens);
        return depth === 1 ? `<h1>${content}</h1>\n` : `<h${depth} id="${id}">${content}</h${depth}>\n`;
      },
      code: (block) => sheet(block, `code-${++boxes}`),
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
        return `<a href="${escapeHtml(toAddress(href, pageFile(name)))}">${this.parser.parseInline(tokens)}</a>`;
      },
    },
  });
  return { name, ...readHead(markdown), html: marked.parser(joinFences(marked.lexer(markdown))), sections };
}
