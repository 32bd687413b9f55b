/** An e-mail's text as HTML: its paragraphs, and a button in place of its link. */

import { html } from "hono/html";

export interface Letter {
  subject: string;
  /** Paragraphs with an empty line between them; one that is a link alone becomes the button. */
  text: string;
  /** The words of the button. */
  action?: string;
}

// Programs for e-mail read no stylesheet and no variables: colours stand in the elements, as in tokens.css. They make dark colours themselves.
const page =
  "margin:0;padding:24px 12px;background:#f3f3f6;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;color:#17171c";
const card = "max-width:480px;margin:0 auto;padding:32px;background:#fff;border-radius:12px;overflow-wrap:anywhere";
const button =
  "display:inline-block;padding:10px 20px;background:#4a4cd9;color:#fff;border-radius:8px;text-decoration:none;font-weight:600";
const small = "color:#5f5f6b;font-size:13px;word-break:break-all";

const isLink = (paragraph: string) => /^https?:\/\/\S+$/.test(paragraph);

/** The whole page. The link is below its button too, for those who rather read where it leads. */
export async function mailPage({ subject, text, action }: Letter, language: string): Promise<string> {
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) =>
      isLink(paragraph)
        ? html`<p><a href="${paragraph}" style="${button}">${action ?? subject}</a></p>
            <p style="${small}">${paragraph}</p>`
        : html`<p>${paragraph}</p>`,
    );
  const whole = await html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <meta name="color-scheme" content="light dark" />
        <title>${subject}</title>
      </head>
      <body style="${page}">
        <div style="${card};word-break:${language === "ko" ? "keep-all" : "break-word"}">
          <h1 style="margin:0 0 16px;font-size:20px;line-height:1.3">${subject}</h1>
          ${paragraphs}
        </div>
      </body>
    </html>`;
  // A string proper: hono marks its own, and bindings refuse those.
  return whole.toString();
}
