/** A model's entry as JSON, with its lines numbered and those that are wrong marked. */

import { Button, Copy, Refused, useAround } from "../../parts/index.ts";
import { hashedPath } from "../../static-files.ts";
import { builtIn } from "./draft.ts";
import { formatEntry, locate, type ShownEntry } from "./entry-text.ts";
import type { Editor } from "./state.ts";
import { toUnits } from "../../../db/ledger.ts";

/** A rule that a line of the text violates. */
interface LineProblem {
  line: number;
  param: string;
  value?: string;
  text: string;
}

const findProblems = ({ draft, verdict }: Editor): LineProblem[] =>
  verdict?.as === "refused" ? verdict.problems.map(({ param, text }) => ({ param, text, ...locate(draft.text, param) })) : [];

/** The place of a field in the text. */
export const linkToLine = ({ draft }: Editor, param: string): string => `#l${locate(draft.text, param).line}`;

const Problems = ({ editor, problems }: { editor: Editor; problems: LineProblem[] }) => {
  const { t } = useAround();
  const { syntax } = editor.draft;
  if (!syntax && problems.length === 0) return null;
  return (
    <Refused isApart>
      <ul>
        {syntax && (
          <li>
            <b>{t("admin_model_no_json", { line: syntax.line })}</b> {syntax.text !== "" && <code>{syntax.text}</code>}{" "}
            <a href={`#l${syntax.line}`}>{t("admin_model_go_to", { line: syntax.line })}</a>
          </li>
        )}
        {problems.map(({ line, param, value, text }) => (
          <li>
            <b>
              {t("admin_model_line", { line })}: {value === undefined ? param : `${param} “${value}”`}
            </b>{" "}
            {text}. <a href={`#l${line}`}>{t("admin_model_go_to", { line })}</a>
          </li>
        ))}
      </ul>
    </Refused>
  );
};

/** The built-in entry, of which the operator's has only what differs. */
const BuiltIn = ({ id }: { id: string }) => {
  const { t } = useAround();
  const model = builtIn(id);
  if (!model) return null;
  const price = Object.fromEntries(
    Object.entries(model.price).map(([name, amount]) => [name, name.endsWith("_x") ? amount : toUnits(amount)]),
  );
  const entry: ShownEntry = { price, typical_seconds: model.typicalSeconds, state: model.state, routes: model.routes };
  return (
    <details class="more gap0">
      <summary>{t("admin_model_built_in_entry")}</summary>
      <div class="stack">
        <div class="code">
          <pre tabindex={0} role="region" aria-label={t("admin_model_built_in_entry")}>
            <code>{formatEntry(entry)}</code>
          </pre>
        </div>
      </div>
    </details>
  );
};

export const JsonField = ({ editor }: { editor: Editor }) => {
  const { t } = useAround();
  const { draft } = editor;
  const problems = findProblems(editor);
  const hot = new Set([...problems.map(({ line }) => line), ...(draft.syntax ? [draft.syntax.line] : [])]);
  const lines = draft.text.split("\n").length;
  return (
    <>
      <Problems editor={editor} problems={problems} />
      {draft.isNew && (
        <p class="field made">
          <label for="f-id">{t("id")}</label>
          <input class="in" id="f-id" name="id" value={draft.id} maxlength={64} autocomplete="off" spellcheck={false} />
        </p>
      )}
      <div class="code lines">
        <header>
          <label class="meta grow0" for="f-text">
            {draft.id === "" ? t("admin_model_entry") : `models/${draft.id}.json`}
          </label>
          <Button class="btn ghost sm" name="act" value="tidy" icon="pen" text={t("admin_model_tidy")} />
          <Copy of="f-text" />
        </header>
        <div class="editor">
          <ol aria-hidden="true" data-lines="f-text">
            {Array.from({ length: lines }, (_, at) => (
              <li id={`l${at + 1}`} class={hot.has(at + 1) ? "hot" : undefined}>
                {at + 1}
              </li>
            ))}
          </ol>
          <textarea id="f-text" name="text" rows={lines} wrap="off" spellcheck={false} autocomplete="off" autocapitalize="off">
            {draft.text}
          </textarea>
        </div>
      </div>
      <p class="meta pt">{t("admin_model_file_hint")}</p>
      <BuiltIn id={draft.id} />
      <script src={hashedPath("entry.js")} type="module" />
    </>
  );
};
