/** Code examples in several languages, one shown at a time: the tabs work without script. */

import { raw } from "hono/html";
import { useAround } from "./context.ts";
import { Copy } from "./copy.tsx";
import { highlight } from "./highlight.ts";

export interface CodeTab {
  /** The id of the copied element; unique on the page. */
  id: string;
  title: string;
  code: string;
}

/** The grammar of a tab, by its title; an answer of the API is JSON. */
const findGrammar = (title: string) =>
  ({ curl: "sh", Python: "python", JavaScript: "js", OpenAI: "python" })[title] ?? (/^(JSON|GET) ?/.test(title) ? "json" : "");

/** The coloured text of a tab. `isSwapped`: for the element of this id on the page. */
export const Coloured = ({ id, title, code, isSwapped }: CodeTab & { isSwapped?: boolean }) => (
  <code id={id} {...(isSwapped && { "hx-swap-oob": "true" })}>
    {raw(highlight(code, findGrammar(title)))}
  </code>
);

/** `name` distinguishes several such boxes of a page. */
export const Code = ({ name, tabs }: { name: string; tabs: CodeTab[] }) => {
  const { t } = useAround();
  return (
    <div class="code" role="group" aria-label={t("code_of", { languages: tabs.map(({ title }) => title).join(", ") })}>
      {tabs.map(({ id, title, code }, at) => (
        <>
          <label class="lang">
            <input type="radio" name={`code-${name}`} value={id} checked={at === 0} />
            {title}
          </label>
          <div class="panel">
            <Copy of={id} label={`${t("copy")}: ${title}`} />
            <pre tabindex={0} aria-label={title}>
              <Coloured id={id} title={title} code={code} />
            </pre>
          </div>
        </>
      ))}
    </div>
  );
};
