/** A model with its fields, price, usual time and code examples. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { nothingHere, page, signedIn } from "../frame.tsx";
import { Code, Icon, kindIcons, Link } from "../parts/index.ts";
import { buildBody } from "../playground/body.ts";
import { type Choice, readChoices, groups, shownPath, toRequest } from "../playground/choices.ts";
import { carriedOver } from "../playground/fields.ts";
import { buildSnippets } from "../playground/snippets.ts";
import { Sample } from "../site/sample.tsx";
import { FieldTable } from "./fields.tsx";
import { ModelFacts } from "./facts.tsx";
import { list } from "./list.tsx";

/** Actions of a model beside its main kind. */
export const otherActions = (choices: Choice[], model: string) => choices.filter((one) => one.model === model && one.id !== model);

/** The example request of each action of a model. */
const sample = (c: ConsoleContext, choice: Choice) =>
  carriedOver(
    choice.fields,
    new Map([
      ["prompt", [c.var.t("example_lighthouse")]],
      ["from_task", ["task_…"]],
      ["timestamps", ["1,3"]],

      ["messages.0.role", ["user"]],
      ["messages.0.content", [c.var.t("example_question")]],
    ]),
  );

/** A model's action: its path, its fields and example programs. */
export const ActionSection = ({ c, choice }: { c: ConsoleContext; choice: Choice }) => {
  const { t } = c.var;
  const { path, body } = toRequest(choice, buildBody(choice.fields, sample(c, choice), new Map()));
  const request = { path: shownPath(path), body };
  const code = buildSnippets({ base: new URL(c.req.url).origin, isChat: choice.action === "chat", ...request });
  const id = choice.action;
  return (
    <section class="stack">
      <div class="sub">
        <Icon name={kindIcons[choice.action]} />
        <h2>{t(`model_group_${choice.action}`)}</h2>
        <code class="id">POST {request.path}</code>
        <a
          class="btn sm push"
          href={`/console/playground?model=${encodeURIComponent(choice.id)}`}
          aria-label={t("try_model", { model: `${choice.model}, ${t(`model_group_${choice.action}`)}` })}
        >
          {t("try")}
        </a>
      </div>
      <FieldTable action={choice.action} fields={choice.fields} label={t("fields_of", { action: t(`model_group_${choice.action}`) })} />
      <Code
        name={id}
        tabs={[
          { id: `${id}-curl`, title: "curl", code: code.curl },
          { id: `${id}-javascript`, title: "JavaScript", code: code.javascript },
          { id: `${id}-python`, title: "Python", code: code.python },
        ]}
      />
    </section>
  );
};

async function one(c: ConsoleContext) {
  const { t } = c.var;
  const name = c.req.param("model") ?? "";
  const choices = await readChoices(c);
  const choice = choices.find(({ id, aliases }) => id === name || aliases.includes(name));
  if (!choice || !groups.includes(choice.action) || choice.id !== choice.model) return nothingHere(c);
  return page(
    c,
    choice.model,
    <>
      <section class="cols sampled">
        <Sample c={c} choice={choice} />
        <ModelFacts c={c} choice={choice} />
      </section>
      {[choice, ...otherActions(choices, choice.model)].map((action) => (
        <ActionSection c={c} choice={action} />
      ))}
    </>,
    200,
    {
      actions: <Link class="btn primary" href={`/console/playground?model=${encodeURIComponent(choice.id)}`} text={t("open_playground")} />,
    },
  );
}

export const models = new Hono<ConsoleEnvironment>().use(signedIn).get("/", list).get("/:model", one);
