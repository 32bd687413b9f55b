/** `/console/webhooks`: the account's endpoint, its signing secret, a test event, and the latest deliveries. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { type Refusal, readRefusal, readWebhookTest } from "../answers.ts";
import { readForm } from "../forms.ts";
import { messageFor, page, signedIn } from "../frame.tsx";
import { askGateway, withJson } from "../gateway.ts";
import {
  Button,
  Code,
  Copy,
  Link,
  NavLinks,
  Note,
  Pill,
  Problem,
  Question,
  SectionHead,
  Stats,
  taskPath,
  TextField,
  useAround,
} from "../parts/index.ts";
import { toSentence } from "../playground/problem.ts";
import { Deliveries, type Delivery, isFailed, latestDeliveries, summarize, tasksRead } from "./deliveries.tsx";
import { verifiers } from "./verify.ts";

const outcomes = { saved: "webhook_saved", removed: "webhook_removed", rotated: "webhook_rotated" } as const;
const path = "/console/webhooks";

interface Shown {
  /** An invalid form: the typed endpoint, and the message. */
  refusal?: Refusal | undefined;
  typed?: string | undefined;
  /** The outcome of a test event. */
  test?: { isDelivered: boolean; text: string } | undefined;
}

const EndpointForm = ({ url, problem, isNew }: { url: string; problem: string | undefined; isNew: boolean }) => {
  const { t, language } = useAround();
  return (
    <form method="post" action={path} class="stack narrow">
      <TextField
        name="url"
        type="url"
        label={t("webhook_url")}
        hint={t("webhook_url_hint")}
        value={url}
        error={problem && toSentence(language, t("webhook_url"), problem.replace(/^url: /, ""))}
        autocomplete="url"
        required
      />
      <p class="row">
        <Button class="btn primary" text={t(isNew ? "webhook_add" : "save")} />
        {!isNew && <Link class="btn" href={path} text={t("cancel")} />}
      </p>
    </form>
  );
};

/** The secret, hidden until the user shows it. */
const Secret = ({ secret, isShown }: { secret: string; isShown: boolean }) => {
  const { t } = useAround();
  return (
    <div class="secret sl" id="secret">
      <span class="meta">{t("webhook_secret")}</span>
      <code id="secret-text">{isShown ? secret : `whsec_${"•".repeat(16)}${secret.slice(-4)}`}</code>
      {isShown && <Copy of="secret-text" />}
      <Link class="btn ghost sm" href={isShown ? path : `${path}?secret=shown#secret`} text={t(isShown ? "webhook_hide" : "show")} />
      <Link class="btn ghost sm" href={`${path}/rotate`} text={t("rotate")} />
    </div>
  );
};

const Endpoint = ({ url, deliveries, children }: { url: string; deliveries: Delivery[]; children: unknown }) => {
  const { t } = useAround();
  const { delivered, failed, medianMs } = summarize(deliveries);
  return (
    <section class="card">
      <header>
        <h2 class="clip">
          <code class="url">{url}</code>
        </h2>
        <Pill icon="ok" tone="good" text={t("webhook_active")} />
        <span class="push row">
          <form method="post" action={`${path}/test`}>
            <Button class="btn sm" text={t("webhook_test")} />
          </form>
          <Link class="btn sm" href={`${path}?change=yes`} text={t("change")} />
          <Link class="btn ghost sm" href={`${path}/remove`} text={t("remove")} />
        </span>
      </header>
      <Stats
        of={[
          [t("callback_delivered"), delivered, t("deliveries_of", { count: tasksRead })],
          [t("failed_status"), failed],
          [t("median_answer"), medianMs === undefined ? "–" : `${medianMs} ms`],
        ]}
      />
      {children}
    </section>
  );
};

async function webhooksPage(c: ConsoleContext, { refusal, typed, test }: Shown = {}) {
  const { t } = c.var;
  const [{ url, secret }, deliveries] = await Promise.all([c.env.API.webhook(c.var.account.id), latestDeliveries(c)]);
  const onlyFailed = c.req.query("result") === "failed";
  const isChanging = typed !== undefined || c.req.query("change") === "yes";
  const secretField = <Secret secret={secret} isShown={c.req.query("secret") === "shown"} />;
  return page(
    c,
    t("webhooks"),
    <>
      {test && (
        <Note tone={test.isDelivered ? "good" : "bad"} role="status">
          {test.text}
        </Note>
      )}
      {typed === undefined && <Problem text={refusal?.text} />}
      {url === null || isChanging ? (
        <section class="card">
          <EndpointForm isNew={url === null} url={typed ?? url ?? ""} problem={typed === undefined ? undefined : refusal?.text} />
          {secretField}
        </section>
      ) : (
        <Endpoint url={url} deliveries={deliveries}>
          {secretField}
        </Endpoint>
      )}
      <section>
        <SectionHead title={t("deliveries")}>
          <NavLinks
            class="chips push"
            label={t("callback_result")}
            of={[
              { path, text: t("any_kind"), isHere: !onlyFailed },
              { path: `${path}?result=failed`, text: t("failed_status"), isHere: onlyFailed },
            ]}
          />
        </SectionHead>
        <Deliveries deliveries={onlyFailed ? deliveries.filter(isFailed) : deliveries} />
      </section>
      <section>
        <SectionHead title={t("check_signature")}>
          <Link class="push t13" href="/docs/webhooks" text={t("docs")} />
        </SectionHead>
        <Code name="verify" tabs={verifiers} />
      </section>
    </>,
    refusal?.status ?? 200,
    { lead: t("webhooks_lead"), toast: messageFor(c, outcomes, c.req.query("done")) },
  );
}

/** Sets the endpoint, or removes it with null; a refusal is shown beside the field. */
async function setEndpoint(c: ConsoleContext, url: string | null) {
  const answer = await askGateway(c, "/v1/webhook", withJson("PUT", { url }));
  if (!answer.ok) return webhooksPage(c, { refusal: await readRefusal(answer), typed: url ?? undefined });
  return c.redirect(`${path}?done=${url === null ? "removed" : "saved"}`, 303);
}

/** Sends a test event, and shows its outcome. */
async function sendTest(c: ConsoleContext) {
  const { t } = c.var;
  const answer = await askGateway(c, "/v1/webhook/test", { method: "POST" });
  if (!answer.ok) return webhooksPage(c, { refusal: await readRefusal(answer) });
  const { delivered, status, fault, ms } = await readWebhookTest(answer);
  const result = status === undefined ? t(`fault_${fault ?? "interrupted"}`) : `HTTP ${status}`;
  return webhooksPage(c, {
    test: { isDelivered: delivered, text: t(delivered ? "webhook_test_good" : "webhook_test_bad", { result, ms }) },
  });
}

/** Sends a task's callback again. */
async function resend(c: ConsoleContext, id: string) {
  const answer = await askGateway(c, `${taskPath(id)}/callback`, { method: "POST" });
  return answer.ok ? c.redirect(path, 303) : webhooksPage(c, { refusal: await readRefusal(answer) });
}

/** Asks for confirmation before the endpoint or the secret is replaced. */
const question = (name: "rotate" | "remove") => (c: ConsoleContext) => {
  const { t } = c.var;
  return page(
    c,
    t(`webhook_${name}_ask`),
    <Question
      text={t(`webhook_${name}_warning`)}
      yes={t(name)}
      icon={name === "rotate" ? "again" : "bin"}
      back={path}
      isHarmless={name === "rotate"}
    >
      <input type="hidden" name="key" value={crypto.randomUUID()} autocomplete="off" />
    </Question>,
    200,
    { width: "slim" },
  );
};

async function rotate(c: ConsoleContext) {
  const key = (await readForm(c))("key");
  // The same form sent twice is one rotation; the page has a new key each time.
  const headers = key === "" ? {} : { "idempotency-key": key };
  const answer = await askGateway(c, "/v1/webhook_secret", { method: "POST", headers });
  return answer.ok ? c.redirect(`${path}?done=rotated`, 303) : webhooksPage(c, { refusal: await readRefusal(answer) });
}

export const webhooks = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => webhooksPage(c))
  .post("/", async (c) => setEndpoint(c, (await readForm(c))("url")))
  .get("/remove", question("remove"))
  .post("/remove", (c) => setEndpoint(c, null))
  .get("/rotate", question("rotate"))
  .post("/rotate", rotate)
  .post("/test", sendTest)
  .post("/resend/:id", (c) => resend(c, c.req.param("id")));
