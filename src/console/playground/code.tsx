/** The panes beside the result: the same request as programs, and as JSON with its answer. */

import { Code, Coloured, Copy, useAround } from "../parts/index.ts";
import { shownPath } from "./choices.ts";
import { ImageFile } from "./image-file.ts";
import { openaiSnippet } from "./openai-snippet.ts";
import { buildSnippets } from "./snippets.ts";
import type { View } from "./view.ts";
import type { TaskData } from "../answers.ts";

const titles = { curl: "curl", javascript: "JavaScript", python: "Python", openai: "OpenAI" } as const;

function buildPrograms({ choice: { action }, request, typed }: View, base: string) {
  const source = typed.get("video_id")?.[0];
  return {
    ...buildSnippets({ base, isChat: action === "chat", ...request, path: shownPath(request.path) }),
    openai: openaiSnippet({ base, action, body: request.body, source }),
  };
}

/** A body as JSON, with the names of images instead of their content. */
const jsonText = (value: unknown) =>
  JSON.stringify(value, (_, item: unknown) => (item instanceof ImageFile ? `data:${item.type};base64,… (${item.name})` : item), 2);

/** The answers about these tasks as JSON. */
export const answerText = (tasks: TaskData[]) =>
  tasks.length === 0 ? "–" : jsonText(tasks.length === 1 ? { code: 200, data: tasks[0] } : tasks);

export const CodePane = ({ view, base }: { view: View; base: string }) => {
  const { t } = useAround();
  const code = buildPrograms(view, base);
  return (
    <div class="body" id="code">
      <p class="muted t13 lead1">{t("code_hint")}</p>
      <Code
        name="playground"
        tabs={Object.entries(titles).map(([name, title]) => ({ id: `code-${name}`, title, code: code[name as keyof typeof titles] }))}
      />
    </div>
  );
};

const requestLine = ({ request }: View) => `POST ${shownPath(request.path)}`;

const Block = ({ id, title, text, beside }: { id: string; title: string; text: string; beside?: string }) => (
  <div class="code">
    <header>
      <span class="meta grow0">
        {title} {beside !== undefined && <code id={`${id}-path`}>{beside}</code>}
      </span>
      <Copy of={id} label={`${useAround().t("copy")}: ${title}`} />
    </header>
    <pre tabindex={0} aria-label={title}>
      <Coloured id={id} title="JSON" code={text} />
    </pre>
  </div>
);

export const JsonPane = ({ view, isSwapped }: { view: View; isSwapped?: boolean }) => {
  const { t } = useAround();
  return (
    <div class="body" id="json" {...(isSwapped && { "hx-swap-oob": "true" })}>
      <div class="stack">
        <Block id="json-request" title={t("request")} beside={requestLine(view)} text={jsonText(view.request.body)} />
        <Block id="json-answer" title={t("answer")} text={answerText(view.runs)} />
      </div>
    </div>
  );
};

/** The contents of both panes, each for its element of the page. */
export const Texts = ({ view, base }: { view: View; base: string }) => {
  const code = buildPrograms(view, base);
  return (
    <>
      {Object.entries(titles).map(([name, title]) => (
        <Coloured id={`code-${name}`} title={title} code={code[name as keyof typeof titles]} isSwapped />
      ))}
      <code id="json-request-path" hx-swap-oob="true">
        {requestLine(view)}
      </code>
      <Coloured id="json-request" title="JSON" code={jsonText(view.request.body)} isSwapped />
    </>
  );
};
