/** "Try it" beside an operation: sends its sample for the signed-in user, at a price that the button names. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import type { Child } from "hono/jsx";
import { mayOpen } from "../access.ts";
import { formatAmount } from "../amounts.ts";
import { readForm } from "../forms.ts";
import { isScripted, nothingHere, page, part, signedIn } from "../frame.tsx";
import { askGateway, withJson } from "../gateway.ts";
import { Button, Filled } from "../parts/index.ts";
import { withReturn } from "../return-to.ts";
import { submitOnce } from "../tasks/request.ts";
import { Html } from "./html.tsx";
import * as api from "./openapi.ts";
import { colouredJson } from "./prose.ts";
import { shownModels } from "./catalog.ts";
import { fromUnits } from "../../db/ledger.ts";

/** Sent with their example as body; all others that can be tried only read. */
const withBody = new Set(["createImage", "createEstimate"]);
const maxShownBytes = 64 * 1024;

interface Sample {
  model: string;
  [field: string]: unknown;
}

/** These ask about the calling key, which a user of the console has not, or answer with a secret. */
const ofKeys = new Set([
  "getKey",
  "getKeyBalance",
  "getKeyBalanceWithoutPrefix",
  "getAccountBalance",
  "getAccountBalanceWithoutPrefix",
  "getWebhookSecret",
]);

/** What is tried: reads of the account's own things, and what its example makes. Not streams and files. */
function canTry({ method, operation }: api.Place): boolean {
  if (!api.isOfKey(operation) || ofKeys.has(operation.operationId)) return false;
  if (withBody.has(operation.operationId)) return true;
  const { content = {} } = api.resolve(operation.responses["200"] ?? { description: "" });
  return method === "GET" && content["application/json"] !== undefined;
}

/** The example that is sent: without the reference of another program. */
function findExample(operation: api.Operation): Sample | undefined {
  const [text] = Object.values(operation.requestBody?.content ?? {}).flatMap((content) => api.formatExamples(content));
  if (text === undefined || !withBody.has(operation.operationId)) return undefined;
  const { reference: _, ...body } = JSON.parse(text) as Sample;
  return body;
}

/** The names of the path's parameters. */
const readIds = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

/** The form beside the samples; for visitors the way to sign in. Nothing for what cannot be tried. */
export async function tryForm(c: ConsoleContext, place: api.Place): Promise<Child> {
  const { t } = c.var;
  if (!canTry(place)) return null;
  const { operation, path } = place;
  if (c.var.user === undefined)
    return (
      <p class="meta" id="try">
        <Filled message="try_sign_in" by={{ link: <a href={withReturn("/console/sign-in", c.req.path)}>{t("sign_in")}</a> }} />
      </p>
    );
  if (!mayOpen(c.var.membership.role, "POST", "/console/try/any")) return null;
  const body = findExample(operation);
  const priced = operation.operationId === "createImage";
  const price = priced ? (await shownModels(c)).find(({ id }) => id === body?.model)?.price["image"] : 0;
  if (price === undefined) return null;
  const amount = price === 0 ? t("try_free") : formatAmount(c, fromUnits(price));
  return (
    <form method="post" action={`/console/try/${operation.operationId}`} class="stack tight" id="try" data-into="tried">
      {priced && <input type="hidden" name="key" value={crypto.randomUUID()} autocomplete="off" />}
      {readIds(path).map((name) => (
        <input class="in sm" name={name} aria-label={name} placeholder={name} required maxlength={200} />
      ))}
      <div class="row between">
        <span class="meta">{t(priced ? "try_priced" : "try_reads")}</span>
        <Button class="btn primary sm" icon="bolt" text={t("try_send", { amount })} />
      </div>
      <div id="tried" aria-live="polite" />
    </form>
  );
}

/** What came back: status and body, and the image that was made. */
const Tried = ({ status, text, image }: { status: number; text: string; image: string | undefined }) => (
  <div class="stack tight">
    <p class="meta">
      <span class={`method ${status < 400 ? "get" : "delete"}`}>{status}</span>
    </p>
    {image !== undefined && <img src={image} alt="" />}
    <div class="code">
      <pre tabindex={0} aria-label={String(status)}>
        <code>
          <Html html={colouredJson(text)} />
        </code>
      </pre>
    </div>
  </div>
);

const shownJson = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, maxShownBytes);
  } catch {
    return text.slice(0, maxShownBytes);
  }
};

async function send(c: ConsoleContext, place: api.Place) {
  const field = await readForm(c);
  const { operation, path, method } = place;
  const body = findExample(operation);
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(field(name) || "_"));
  const isImage = operation.operationId === "createImage";
  const answer = await (isImage && body
    ? submitOnce(c, field("key"), { path: `${target}?wait=60`, body })
    : askGateway(c, target, body ? withJson("POST", body) : { method }));
  const text = await answer.text();
  const image = /"url": ?\["(https?:[^"]+)"\]/.exec(text)?.[1];
  const tried = <Tried status={answer.status} text={shownJson(text)} image={isImage ? image : undefined} />;
  if (isScripted(c)) return part(c, tried);
  return page(c, operation.summary, tried, 200, { width: "slim" });
}

export const trying = new Hono<ConsoleEnvironment>().use(signedIn).post("/:id", (c) => {
  const place = api.operationNamed(c.req.param("id"));
  return place && canTry(place) ? send(c, place) : nothingHere(c);
});
