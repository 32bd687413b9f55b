/** The text of a model as HTML: Markdown with coloured code to copy. HTML in it is shown as text, links lead to http(s) alone, images are links. */

import type { Child } from "hono/jsx";
import { raw } from "hono/html";
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { useAround } from "./context.ts";
import { Copy } from "./copy.tsx";
import { highlight } from "./highlight.ts";

const isSafe = (url: string) => /^https?:$/.test(URL.parse(url)?.protocol ?? "");

const Link = ({ href, children }: { href: string; children: Child }) =>
  isSafe(href) ? (
    <a href={href} rel="noopener noreferrer nofollow" target="_blank">
      {children}
    </a>
  ) : (
    <>{children}</>
  );

/** Words within a paragraph. */
const Inline = ({ tokens }: { tokens: Token[] }) => (
  <>
    {(tokens as MarkedToken[]).map((token) => {
      switch (token.type) {
        case "strong":
          return (
            <strong>
              <Inline tokens={token.tokens} />
            </strong>
          );
        case "em":
          return (
            <em>
              <Inline tokens={token.tokens} />
            </em>
          );
        case "del":
          return (
            <del>
              <Inline tokens={token.tokens} />
            </del>
          );
        case "codespan":
          return <code>{token.text}</code>;
        case "br":
          return <br />;
        case "link":
          return (
            <Link href={token.href}>
              <Inline tokens={token.tokens} />
            </Link>
          );
        case "image":
          return <Link href={token.href}>{token.text || token.href}</Link>;
        case "text":
          return token.tokens ? <Inline tokens={token.tokens} /> : <>{token.text}</>;
        case "escape":
          return <>{token.text}</>;
        default:
          return <>{token.raw}</>;
      }
    })}
  </>
);

const Block = ({ code, language, id }: { code: string; language: string; id: string }) => (
  <div class="code">
    <header>
      <span class="meta grow0">{language}</span>
      <Copy of={id} />
    </header>
    <pre tabindex={0} aria-label={language || useAround().t("pane_code")}>
      <code id={id}>{raw(highlight(code, language.toLowerCase()))}</code>
    </pre>
  </div>
);

const List = ({ list, id }: { list: Tokens.List; id: string }) => {
  const items = list.items.map((item, at) => (
    <li>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      <Blocks tokens={item.tokens} id={`${id}-${at}`} />
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
};

const Grid = ({ table }: { table: Tokens.Table }) => (
  <div class="grid-of" role="group" tabindex={0} aria-label={table.header.map(({ text }) => text).join(", ")}>
    <table>
      <thead>
        <tr>
          {table.header.map(({ tokens }) => (
            <th scope="col">
              <Inline tokens={tokens} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row) => (
          <tr>
            {row.map(({ tokens }) => (
              <td>
                <Inline tokens={tokens} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const Blocks = ({ tokens, id }: { tokens: Token[]; id: string }) => (
  <>
    {(tokens as MarkedToken[]).map((token, at) => {
      const own = `${id}-${at}`;
      switch (token.type) {
        case "space":
        case "def":
          return null;
        case "heading":
          // The page has the larger ones.
          return (
            <p class="heading" role="heading" aria-level={Math.min(6, token.depth + 2)}>
              <Inline tokens={token.tokens} />
            </p>
          );
        case "paragraph":
          return (
            <p>
              <Inline tokens={token.tokens} />
            </p>
          );
        case "code":
          return <Block code={token.text} language={/^\S*/.exec(token.lang ?? "")?.[0] ?? ""} id={own} />;
        case "list":
          return <List list={token} id={own} />;
        case "blockquote":
          return (
            <blockquote>
              <Blocks tokens={token.tokens} id={own} />
            </blockquote>
          );
        case "table":
          return <Grid table={token} />;
        case "hr":
          return <hr />;
        case "html":
          return <p>{token.text}</p>;
        default:
          return <Inline tokens={[token]} />;
      }
    })}
  </>
);

/** Deeper nesting than a text for people has is shown as it is. */
const tooDeep = /^(?:[ \t]*>){20}|^[ \t]{80}/m;

/** `id` makes the ids of its code unique. */
export const Markdown = ({ text, id }: { text: string; id: string }) => (
  <div class="md">
    {tooDeep.test(text) ? <p class="as-is">{text}</p> : <Blocks tokens={Lexer.lex(text, { gfm: true, breaks: true })} id={id} />}
  </div>
);
