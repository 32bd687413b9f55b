/** `/console/destinations`: the account's buckets for delivery: listing, adding, replacing, testing and deleting them. */

import { Hono } from "hono";
import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { type Destination, type DestinationTest, readDestinations, readDestinationTest, readError, readRefusal } from "../answers.ts";
import { readForm } from "../forms.ts";
import { messageFor, nothingHere, page, signedIn } from "../frame.tsx";
import { askGateway, withJson } from "../gateway.ts";
import {
  BucketAnswer,
  Button,
  DataTable,
  DateTime,
  Empty,
  type FieldProblem,
  FieldProblems,
  Fold,
  FoldLink,
  Link,
  Note,
  Problem,
  Question,
  TextField,
  useAround,
} from "../parts/index.ts";
import { BatchTabs } from "./tabs.tsx";
import { type PageStatus, toPageStatus } from "../page-status.ts";

const path = "/console/destinations";
const fields = ["name", "endpoint", "bucket", "region", "access_key_id", "secret_access_key", "prefix"] as const;
type FieldName = (typeof fields)[number];
const optional = new Set<FieldName>(["prefix"]);
/** The messages after an action. */
const outcomes = { saved: "destination_saved", deleted: "destination_deleted" } as const;

interface Shown {
  test?: DestinationTest;
  /** A refused form: what was typed, and the errors. */
  typed?: ((name: string) => string) | undefined;
  problems?: FieldProblem[];
  problem?: string;
  status?: PageStatus;
}

/** A name from a path may be empty or `..`. */
const apiPath = (name: string) => `/v1/destinations/${/^[a-z0-9][a-z0-9_-]*$/.test(name) ? name : "-"}`;

const steps = ["write", "read", "delete"] as const;

/** The outcome of each step of a test, with the bucket's own words. */
const Outcome = ({ test }: { test: DestinationTest }) => {
  const { t } = useAround();
  return (
    <Note tone={test.ok ? "good" : "bad"} role="status">
      <p>
        <b>{t(test.ok ? "destination_test_good" : "destination_test_bad", { name: test.name })}</b>
      </p>
      <ul>
        {steps.map((step) => {
          const tried = test[step];
          if (!tried) return null;
          const isGood = tried.status !== undefined && tried.status < 300;
          return (
            <li>
              {t(`destination_${step}`)}: {isGood ? "✓ " : ""}
              <BucketAnswer tried={tried} /> <span class="meta">{tried.ms} ms</span>
            </li>
          );
        })}
      </ul>
      {!test.ok && <p>{t("destination_test_hint")}</p>}
    </Note>
  );
};

const Rows = ({ list }: { list: Destination[] }) => {
  const { t } = useAround();
  return (
    <DataTable
      label={t("destinations")}
      class="named"
      rows={list}
      columns={[
        {
          name: t("name"),
          cell: ({ name, bucket, prefix = "" }) => (
            <span class="thing">
              <span>
                <b class="clip">{name}</b>
                <span class="meta clip">{`s3://${bucket}/${prefix}`}</span>
              </span>
            </span>
          ),
        },
        {
          name: t("destination_where"),
          isExtra: true,
          class: "cut",
          cell: ({ endpoint }) => <span title={endpoint}>{new URL(endpoint).host}</span>,
        },
        {
          name: t("destination_changed"),
          isNumber: true,
          isExtra: true,
          cell: ({ changed_at: changedAt }) => <DateTime ms={1000 * changedAt} />,
        },
        {
          name: "",
          isNumber: true,
          cell: ({ name }) => (
            <span class="row end">
              <form method="post" action={`${path}/${name}/test`}>
                <Button class="btn ghost sm" aria-label={t("destination_test_named", { name })} text={t("destination_test")} />
              </form>
              <Link
                class="btn ghost sm"
                href={`${path}?change=${name}#form`}
                aria-label={t("destination_change_named", { name })}
                text={t("destination_change")}
              />
              <Link
                class="btn ghost sm danger"
                href={`${path}/${name}/delete`}
                aria-label={t("delete_named", { name })}
                text={t("delete")}
              />
            </span>
          ),
        },
      ]}
    />
  );
};

interface FormProps extends Pick<Shown, "typed" | "problems"> {
  changed: Destination | undefined;
  /** True if there is no destination yet. */
  isFirst: boolean;
}

const Form = ({ changed, typed, problems = [], isFirst }: FormProps) => {
  const { t } = useAround();
  const known: { [Name in FieldName]?: string | undefined } = changed ?? { region: "auto" };
  const of = (name: FieldName) => ({
    name,
    label: t(`destination_${name}`),
    value: typed?.(name) ?? known[name],
    error: problems.find(({ field }) => field === name)?.text,
    ...(optional.has(name) ? { opt: t("optional") } : { required: true }),
    autocomplete: "off",
    spellcheck: false,
  });
  return (
    <section id="form">
      <Fold
        text={t(changed ? "destination_change_title" : "destination_add_title")}
        isOpen={isFirst || changed !== undefined || typed !== undefined}
      >
        <form method="post" action={path} class="stack narrow wide-form">
          <TextField {...of("name")} hint={t("destination_name_hint")} readonly={changed !== undefined} pattern="[a-z0-9][a-z0-9_\-]*" />
          <TextField {...of("endpoint")} type="url" hint={t("destination_endpoint_hint")} />
          <div class="cols">
            <TextField {...of("bucket")} />
            <TextField {...of("region")} hint={t("destination_region_hint")} />
          </div>
          <div class="cols">
            <TextField {...of("access_key_id")} />
            <TextField {...of("secret_access_key")} type="password" value={undefined} hint={t("destination_secret_hint")} />
          </div>
          <TextField {...of("prefix")} hint={t("destination_prefix_hint")} />
          <p class="row">
            <Button class="btn primary" text={t(changed ? "save" : "destination_add")} />
            {changed && <Link class="btn" href={path} text={t("cancel")} />}
          </p>
        </form>
      </Fold>
    </section>
  );
};

async function destinationsPage(c: ConsoleContext, { test, typed, problems, problem, status = 200 }: Shown = {}) {
  const { t } = c.var;
  const answer = await askGateway(c, "/v1/destinations");
  if (!answer.ok) {
    const refusal = await readRefusal(answer);
    return page(c, t("destinations"), <Problem text={refusal.text} />, refusal.status);
  }
  const list = await readDestinations(answer);
  const changing = typed ? typed("name") : c.req.query("change");
  return page(
    c,
    t("destinations"),
    <>
      <BatchTabs at="destinations" />
      {problems && problems.length > 0 ? <FieldProblems problems={problems} /> : <Problem text={problem} />}
      {test && <Outcome test={test} />}
      <section>
        {list.length === 0 ? (
          <Empty icon="upload" title={t("destinations_none")} text={t("destinations_none_hint")}>
            <Link class="btn" href="/docs/delivery" icon="book" text={t("docs")} />
          </Empty>
        ) : (
          <Rows list={list} />
        )}
      </section>
      <Form changed={list.find(({ name }) => name === changing)} typed={typed} problems={problems ?? []} isFirst={list.length === 0} />
    </>,
    status,
    {
      lead: t("destinations_lead"),
      toast: messageFor(c, outcomes, c.req.query("done")),
      ...(list.length > 0 && changing === undefined && { actions: <FoldLink text={t("destination_add_title")} to="f-name" /> }),
    },
  );
}

/** Adds or replaces a destination; a refusal is shown beside its fields. */
async function save(c: ConsoleContext) {
  const { t } = c.var;
  const field = await readForm(c);
  const name = field("name");
  const values = fields.filter((one) => one !== "name" && field(one) !== "").map((one) => [one, field(one)]);
  const answer = await askGateway(c, apiPath(name), withJson("PUT", { kind: "s3", ...Object.fromEntries(values) }));
  if (answer.ok) return c.redirect(`${path}?done=saved`, 303);
  const { message, details = [] } = await readError(answer);
  const problems = details.flatMap(({ param, message: rule }) => {
    const known = fields.find((one) => one === param);
    return known ? [{ field: known, label: t(`destination_${known}`), text: rule }] : [];
  });
  return destinationsPage(c, { typed: field, problems, problem: message, status: toPageStatus(answer.status) });
}

async function test(c: ConsoleContext, name: string) {
  const answer = await askGateway(c, `${apiPath(name)}/test`, { method: "POST" });
  if (answer.status === 404) return nothingHere(c);
  if (answer.ok) return destinationsPage(c, { test: await readDestinationTest(answer) });
  const { text, status } = await readRefusal(answer);
  return destinationsPage(c, { problem: text, status });
}

async function askToDelete(c: ConsoleContext, name: string) {
  const { t } = c.var;
  if (!(await askGateway(c, apiPath(name))).ok) return nothingHere(c);
  return page(
    c,
    t("destination_delete_ask", { name }),
    <Question text={t("destination_delete_warning")} yes={t("destination_delete_do")} icon="bin" back={path} />,
    200,
    { width: "slim" },
  );
}

async function remove(c: ConsoleContext, name: string) {
  const answer = await askGateway(c, apiPath(name), { method: "DELETE" });
  if (answer.status === 404) return nothingHere(c);
  if (answer.ok) return c.redirect(`${path}?done=deleted`, 303);
  const { text, status } = await readRefusal(answer);
  return destinationsPage(c, { problem: text, status });
}

export const destinations = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => destinationsPage(c))
  .post("/", save)
  .post("/:name/test", (c) => test(c, c.req.param("name")))
  .get("/:name/delete", (c) => askToDelete(c, c.req.param("name")))
  .post("/:name/delete", (c) => remove(c, c.req.param("name")));
