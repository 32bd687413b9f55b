/** Code examples in several languages, one shown at a time: the tabs work without script. */

import { useAround } from "./context.ts";
import { Copy } from "./copy.tsx";

export interface CodeTab {
  /** The id of the copied element; unique on the page. */
  id: string;
  title: string;
  code: string;
}

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
              <code id={id}>{code}</code>
            </pre>
          </div>
        </>
      ))}
    </div>
  );
};
