/** Converts the description's texts to HTML: paragraphs, code and bold only. */

const escape = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** One sentence within a cell. */
export const sentence = (text: string) =>
  escape(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");

/** Text with blank lines between paragraphs. */
export const paragraphs = (text: string): string =>
  text
    .split("\n\n")
    .map((part) => `<p>${sentence(part)}</p>`)
    .join("");

/** JSON with syntax colours: names, then strings. */
export const colouredJson = (json: string): string =>
  escape(json).replace(/&#34;(?:[^&\\]|\\.|&(?!#34;))*&#34;(\s*:)?/g, (text, colon?: string) =>
    colon === undefined ? `<span class="s">${text}</span>` : `<span class="k">${text.slice(0, -colon.length)}</span>${colon}`,
  );

/** Code of any language with its strings coloured. */
export const colouredStrings = (code: string): string =>
  escape(code).replace(/(&#34;|&#39;)(?:[^&\\]|\\[^]|&(?!\1))*?\1/g, (text) => `<span class="s">${text}</span>`);
