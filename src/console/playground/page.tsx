/** The playground's page in two panes: the form, and beside it the result, the same request as code, and earlier runs. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { page, part } from "../frame.tsx";
import { Link, Money, Note, useAround, WhenDone } from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";
import { CodePane, JsonPane } from "./code.tsx";
import { type Answering, Composer, Conversation, parseTurns } from "./conversation.tsx";
import { Nothing } from "./examples.tsx";
import { Left, PlaygroundForm } from "./form.tsx";
import { Runs, State } from "./result.tsx";
import { Sent } from "./shots.tsx";
import { Strip } from "./strip.tsx";
import type { View } from "./view.ts";
import type { PageStatus } from "../page-status.ts";

const panes = ["result", "code", "json"] as const;

const Tabs = ({ children }: { children: Child }) => {
  const { t } = useAround();
  return (
    <div class="tabs">
      <div role="radiogroup" aria-label={t("show")}>
        {panes.map((name) => (
          <label class="tab">
            <input type="radio" name="pane" id={`tab-${name}`} checked={name === "result"} autocomplete="off" />
            {t(`pane_${name}`)}
          </label>
        ))}
      </div>
      {children}
    </div>
  );
};

/** The link to an empty conversation with the same model. */
export const NewChat = ({ view, isSwapped }: { view: View; isSwapped?: boolean }) => {
  const { t } = useAround();
  return (
    <div class="row end" id="state" {...(isSwapped && { "hx-swap-oob": "true" })}>
      <Link
        class="btn ghost sm"
        href={`/console/playground?model=${encodeURIComponent(view.choice.id)}`}
        icon="plus"
        text={t("new_chat")}
      />
    </div>
  );
};

/** The result pane's content for this view. */
const ResultPane = ({ view, answering }: { view: View; answering?: Answering | undefined }) =>
  view.choice.action === "chat" ? (
    <Conversation view={view} answering={answering} />
  ) : view.runs.length > 0 ? (
    <Runs tasks={view.runs} />
  ) : (
    <Nothing action={view.choice.action} />
  );

interface PanesProps {
  view: View;
  /** The gateway's URL. */
  base: string;
  answering?: Answering | undefined;
}

/** Typing or choosing a value updates price and code; choosing a model loads another form. */
const watched = ["input", "change"].map((event) => `${event} from:#play target:":not(#f-model, #tray-url)" delay:250ms`).join(", ");

/** Both panes. */
export const Panes = ({ view, base, answering }: PanesProps) => {
  const { t } = useAround();
  const isChat = view.choice.action === "chat";
  return (
    <div class={isChat ? "play chatting" : "play"} id="play">
      <PlaygroundForm view={view} />
      <section class="out" id="out" aria-label={t("pane_result")}>
        <Tabs>{isChat ? parseTurns(view).length > 0 ? <NewChat view={view} /> : <div id="state" /> : <State tasks={view.runs} />}</Tabs>
        <ResultPane view={view} answering={answering} />
        {!isChat && (
          <template id="waiting">
            <Sent />
          </template>
        )}
        <CodePane view={view} base={base} />
        <JsonPane view={view} />
        {isChat ? (
          <Composer view={view} isAnswering={answering !== undefined && parseTurns(view).at(-1)?.role === "user"} />
        ) : (
          <Strip history={view.history} shown={view.runs} />
        )}
      </section>
      <div
        hidden
        hx-post="/console/playground"
        hx-vals='{"do": "preview"}'
        hx-trigger={watched}
        hx-include="#form :is(textarea, select, input:not([type=file])), [form=form]:is(input, textarea)"
        hx-swap="none"
        hx-sync="#play:queue last"
      />
    </div>
  );
};

export const baseUrl = (c: ConsoleContext) => new URL(c.req.url).origin;

export const playgroundPage = (c: ConsoleContext, view: View, status: PageStatus = 200, answering?: Answering) =>
  page(
    c,
    c.var.t("playground"),
    <>
      <h1 class="vh">{c.var.t("playground")}</h1>
      <Panes view={view} base={baseUrl(c)} answering={answering} />
      <div class="sheet" id="pictures" popover="auto" role="dialog" aria-label={c.var.t("from_gallery")} />
      <WhenDone />
      <script src={hashedPath("playground.js")} type="module" />
      <script src={hashedPath("stills.js")} type="module" />
      <script src={hashedPath("tray.js")} type="module" />
      <script src={hashedPath("events.js")} type="module" />
      <script src={hashedPath("chat.js")} type="module" />
      <script src={hashedPath("attach.js")} type="module" />
    </>,
    status,
    { width: "bare" },
  );

/** The balance in the sidebar and in the phone's top bar. */
export const FrameBalance = ({ remaining }: { remaining: number | null }) =>
  ["balance-side", "balance-top"].map((id) => (
    <span id={id} hx-swap-oob="true">
      <Money millionths={remaining} />
    </span>
  ));

/** The same, and below the button. */
export const Balance = ({ remaining }: { remaining: number | null }) => (
  <>
    <FrameBalance remaining={remaining} />
    <Left remaining={remaining} isSwapped />
  </>
);

/** Answers the page's script that a form was not read: the page stays as it is and shows a note above the form. */
export function unsent(c: ConsoleContext, tone: "bad" | "warn", children: Child): Response | Promise<Response> {
  c.header("hx-reswap", "none");
  return part(
    c,
    <div id="unsent" hx-swap-oob="true">
      <Note tone={tone} role="alert">
        {children}
      </Note>
    </div>,
  );
}
