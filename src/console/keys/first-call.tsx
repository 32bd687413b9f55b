/** The first call with a new key: the filled-in command, and sending it from the page. */

import type { ConsoleContext } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { readError, readTask, readTaskId, taskImages, type TaskData } from "../answers.ts";
import { isScripted, page, part } from "../frame.tsx";
import { askGateway, withJson } from "../gateway.ts";
import { usualTime } from "../models/prices.ts";
import { Button, Link, Money, Note, SectionHead, StatusPill, taskPath, useAround } from "../parts/index.ts";
import { readChoices } from "../playground/choices.ts";
import { landingSample } from "../site/docs.ts";
import { Html } from "../site/html.tsx";
import type { ApiKey } from "../../db/api-keys.ts";
import { fromUnits } from "../../db/ledger.ts";

/** The call of the sample that all pages show. */
const path = "/v1/images/generations?wait=60";
export const firstBody = { model: "imgA-4", size: "16:9", prompt: "A lighthouse at dawn" };

/** What a call costs and how long it usually takes. */
export interface FirstCallFacts {
  price: string;
  time: string;
}

/** Undefined if the model is not available. */
export async function readFirstCall(c: ConsoleContext): Promise<FirstCallFacts | undefined> {
  const choice = (await readChoices(c)).find(({ id }) => id === firstBody.model);
  const units = choice?.price["image"];
  if (!choice || units === undefined) return undefined;
  return { price: formatAmount(c, fromUnits(units)), time: usualTime(c.var.t, choice) };
}

/** A key as it stands in a command: cut, because the page shows it once; the copy button takes the whole. */
const cut = (key: string) => `${key.slice(0, 7)}…${key.slice(-4)}`;

/** The sample with the key. `key` consists of letters and digits, so it needs no escaping. */
const filledIn = (c: ConsoleContext, key: string) => landingSample(c).replaceAll("$API_KEY", `<span data-whole="key">${cut(key)}</span>`);

/** The second step of a new key's page. */
export const FirstCall = ({
  c,
  id,
  secret,
  price,
  time,
}: {
  c: ConsoleContext;
  id: string;
  secret: string;
  price: string;
  time: string;
}) => {
  const { t } = c.var;
  return (
    <section>
      <SectionHead step={2} title={t("try_it")}>
        <span class="meta push">{t("key_try_cost", { price, time })}</span>
      </SectionHead>
      <Html html={filledIn(c, secret)} />
      <p class="meta pt">{t("key_try_hint")}</p>
      <form
        method="post"
        action={`/console/keys/${id}/send`}
        target="_blank"
        class="gap0"
        hx-post={`/console/keys/${id}/send`}
        hx-target="#sent"
        hx-swap="innerHTML"
        hx-sync="this:drop"
        hx-config="timeout:90000"
        hx-indicator="#send"
      >
        <Button class="btn primary" id="send" icon="bolt" text={t("key_send", { price })} />
      </form>
      <div id="sent" aria-live="polite" />
    </section>
  );
};

/** What came back, for the place below the command. */
export const Sent = ({ task, prompt, done }: { task: TaskData; prompt: string; done: string }) => {
  const { t } = useAround();
  const image = taskImages(task)[0]?.url[0];
  return (
    <div class="sent">
      {image !== undefined && <img src={image} alt={prompt} width={320} height={180} />}
      <div class="stack tight">
        <p class="row">
          <StatusPill task={task} />
          {task.cost?.charged !== undefined && <Money millionths={fromUnits(task.cost.charged)} />}
        </p>
        <p>{task.status === "failed" ? task.error?.message : task.status === "completed" ? done : t("key_runs")}</p>
        <p>
          <Link class="btn sm" href={`/console/tasks/${task.id}`} text={t("key_open_task")} />
        </p>
      </div>
    </div>
  );
};

/** Sends the command as the key: with its limits, at its cost. Pressed twice it is one task. */
async function ask(c: ConsoleContext, key: ApiKey) {
  const caller = { ...c.var.caller, keyId: key.walletId, scope: key.scope };
  const answer = await askGateway(c, path, withJson("POST", firstBody, `first-call-${key.id}`), caller);
  if (!answer.ok) return <Note tone="bad">{(await readError(answer)).message}</Note>;
  return (
    <Sent
      task={await readTask(await askGateway(c, taskPath(await readTaskId(answer))))}
      prompt={firstBody.prompt}
      done={c.var.t("key_works")}
    />
  );
}

/** Answers "Send it now": a part of the key's page, or without script a page of its own. */
export async function send(c: ConsoleContext, key: ApiKey): Promise<Response> {
  const { t } = c.var;
  const shown = await ask(c, key);
  if (isScripted(c)) return part(c, shown);
  return page(
    c,
    key.name,
    <>
      {shown}
      <p class="gap0">
        <Link class="btn" href="/console/keys" text={t("all_keys")} />
      </p>
    </>,
    200,
    { width: "slim" },
  );
}
