/** The playground's page: the choice of a model, its form, its price, the same request as code. */

import { remaining } from "../../db/ledger.ts";
import { balanceOf } from "../ledger.ts";
import { type ConsoleContext, page } from "../frame.tsx";
import { bodyOf, holdOf, type Images } from "./body.ts";
import { type Choice, groups, requestOf } from "./choices.ts";
import type { Typed } from "./fields.ts";
import { Fields } from "./form.tsx";
import { amountOf } from "../amounts.ts";
import { snippetsOf } from "./snippets.ts";
import { Copy } from "../parts/copy.tsx";
import { Money } from "../parts/money.tsx";
import { Note, Problem } from "../parts/note.tsx";
import { pathOf } from "../static-files.ts";
import { Stats } from "../parts/table.tsx";

export interface Shown {
  choices: Choice[];
  choice: Choice;
  typed: Typed;
  images?: Images | undefined;
  /** Of the whole form. */
  problem?: string | undefined;
  /** By field. */
  problems?: Map<string, string[]>;
  /** Images were lost on the way to this page. */
  lostImages?: boolean;
  answer?: { text: string; used: string } | undefined;
  /** The account's videos, newest first, for forms that need one. */
  videos?: string[];
}

/** All typed values without files: sent for the preview during typing. */
const texts = "textarea, select, input:not([type=file])";
const code = { curl: "curl", javascript: "JavaScript", python: "Python" } as const;
const codeIds = Object.keys(code).map((language) => `#code-${language}`);

export async function playgroundPage(c: ConsoleContext, shown: Shown, status: Parameters<typeof page>[3] = 200) {
  const { say, language } = c.var;
  const { choices, choice, typed, images = new Map(), problem, problems = new Map<string, string[]>(), answer, videos = [] } = shown;
  const left = remaining(await balanceOf(c, c.get("account").id));
  const body = bodyOf(choice.fields, typed, images);
  const request = requestOf(choice, body);
  const snippets = snippetsOf({ base: new URL(c.req.url).origin, isChat: choice.action === "chat", ...request });
  return page(
    c,
    say("playground"),
    <>
      <form method="get" action="/console/playground">
        <label class="field">
          {say("model")}
          <select
            class="in"
            name="model"
            hx-post="/console/playground"
            hx-vals='{"do": "choose"}'
            hx-include={`#request :is(textarea, select, input:not([type=file], [name=model]))`}
            hx-target="#request"
            hx-select="#request"
            hx-select-oob={codeIds.join(",")}
            hx-swap="outerHTML"
          >
            {groups.map((action) => {
              const members = choices.filter((one) => one.action === action);
              return members.length === 0 ? null : (
                <optgroup label={say(`model_group_${action}`)}>
                  {members.map(({ id, model }) => (
                    <option value={id} selected={id === choice.id}>
                      {model}
                    </option>
                  ))}
                </optgroup>
              );
            })}
          </select>
        </label>
        <noscript>
          <button class="btn">{say("show_form")}</button>
        </noscript>
      </form>
      {answer && (
        <section id="answer" class="card">
          <h2>{say("answer")}</h2>
          <p class="said">{answer.text}</p>
          <p>
            <span class="meta">{answer.used}</span>
          </p>
        </section>
      )}
      <div id="work" class="gap">
        <form class="stack narrow" id="request" method="post" action="/console/playground" enctype="multipart/form-data" data-once>
          <Problem text={problem} />
          {shown.lostImages && <p role="status">{say("add_images_again")}</p>}
          <input type="hidden" name="model" value={choice.id} />
          <input type="hidden" name="shown" value={choice.id} autocomplete="off" />
          <input type="hidden" name="key" value={crypto.randomUUID()} autocomplete="off" />
          <Fields action={choice.action} fields={choice.fields} typed={typed} problems={problems} language={language} say={say} />
          {videos.length > 0 && (
            <datalist id="videos">
              {videos.map((id) => (
                <option value={id} />
              ))}
            </datalist>
          )}
          <div aria-live="polite">
            <Cost c={c} choice={choice} amount={holdOf(choice, body)} left={left} />
          </div>
          <p class="row">
            <button class="btn primary" name="do" value="run">
              {say("run")}
            </button>
            <button name="do" value="preview" class="btn" formnovalidate>
              {say("preview")}
            </button>
          </p>
        </form>
      </div>
      <div
        hx-post="/console/playground"
        hx-vals='{"do": "preview"}'
        hx-trigger="input from:#work delay:400ms"
        hx-include={`#request :is(${texts})`}
        hx-target="#cost"
        hx-select="#cost"
        hx-select-oob={codeIds.join(",")}
        hx-swap="outerHTML"
        hx-sync="this:replace"
      />
      <section class="stack">
        <h2>{say("same_as_code")}</h2>
        <p class="muted">{say("code_hint")}</p>
        {Object.entries(code).map(([name, title]) => (
          <details class="more" name="code" open={name === "curl"}>
            <summary>{title}</summary>
            <div class="code">
              <header>
                <span class="grow0" />
                <Copy of={`code-${name}`} />
              </header>
              <pre tabindex={0} aria-label={title}>
                <code id={`code-${name}`}>{snippets[name as keyof typeof code]}</code>
              </pre>
            </div>
          </details>
        ))}
      </section>
      <script src={pathOf("playground.js")} type="module" />
    </>,
    status,
  );
}

/** The price, beside the remaining balance. */
function Cost({ c, choice, amount, left }: { c: ConsoleContext; choice: Choice; amount: number | null; left: number | null }) {
  const { say } = c.var;
  const units = (name: string) => amountOf(c, Math.round((choice.price[name] ?? 0) * 1e6));
  return (
    <div id="cost">
      <Stats
        of={[
          [
            say(choice.action === "chat" ? "price_at_most" : "price"),
            amount === null ? say("price_unknown") : <Money millionths={amount} />,
          ],
          [say("remaining"), <Money millionths={left} />],
        ]}
      />
      {choice.action === "chat" && (
        <p>
          <span class="meta">{say("by_tokens", { input: units("input_million_tokens"), output: units("output_million_tokens") })}</span>
        </p>
      )}
      {amount !== null && left !== null && amount > left && (
        <Note tone="warn" role="alert">
          {say("too_dear")}
        </Note>
      )}
    </div>
  );
}
