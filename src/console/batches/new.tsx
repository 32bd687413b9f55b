/** `/console/batches/new`: first the lines, as a file, a table or text; then what they will cost, and the form that begins the batch. */

import type { ConsoleContext } from "../context.ts";
import { decimal, formatAmount, parseQuota } from "../amounts.ts";
import { type Destination, readBatch, readDestinations, readError, readFile, readRefusal, type Refusal } from "../answers.ts";
import { BadForm, readForm } from "../forms.ts";
import { page } from "../frame.tsx";
import { askGateway, withJson } from "../gateway.ts";
import {
  Button,
  DataTable,
  type FieldProblem,
  FieldProblems,
  Link,
  NavLinks,
  Note,
  Problem,
  SectionHead,
  SelectField,
  Stats,
  TextArea,
  TextField,
  useAround,
} from "../parts/index.ts";
import { type Choice, readChoices } from "../playground/choices.ts";
import { inTurn, readLargeForm } from "../playground/images.ts";
import { balanceUnit } from "../settings.ts";
import { type Checked, checkFile } from "./check.ts";
import { type TableProblem, toLines } from "./table.ts";
import { type PageStatus, toPageStatus } from "../page-status.ts";
import { toUnits } from "../../db/ledger.ts";

const path = "/console/batches";
/** The largest table that this page converts; users convert a larger one into JSON lines themselves. */
const maxTableBytes = 16 * 1024 * 1024;
const defaultConcurrency = 20;

const sample = `custom_id,model,prompt,size
spring,imgA-4,"Tea fields in spring, morning mist",16:9
autumn,imgA-4,"Tea fields in autumn, low sun",16:9`;

interface Shown {
  problem?: string | undefined;
  /** What a refused form contained. */
  text?: string | undefined;
  model?: string | undefined;
  status?: PageStatus;
}

const Ways = ({ from }: { from: "file" | "text" }) => {
  const { t } = useAround();
  return (
    <NavLinks
      class="seg"
      label={t("batch_from")}
      of={[
        { path: `${path}/new`, icon: "file", text: t("batch_from_file"), isHere: from === "file" },
        { path: `${path}/new?from=text`, icon: "list", text: t("batch_from_text"), isHere: from === "text" },
      ]}
    />
  );
};

const FileForm = () => {
  const { t } = useAround();
  return (
    <form method="post" action={`${path}/file`} enctype="multipart/form-data" class="stack">
      <TextField
        name="file"
        type="file"
        label={t("batch_file")}
        hint={t("batch_file_hint")}
        accept=".jsonl,.ndjson,application/jsonl"
        required
      />
      <p class="row">
        <Button class="btn primary" text={t("batch_check")} />
        <Link class="btn ghost" href="/console/files" text={t("batch_own_files")} />
      </p>
    </form>
  );
};

const ModelChoice = ({ choices, chosen }: { choices: Choice[]; chosen: string | undefined }) => {
  const { t } = useAround();
  const models = [...new Set(choices.filter(({ action }) => action !== "chat").map(({ model }) => model))];
  return (
    <SelectField
      name="model"
      label={t("model")}
      opt={t("batch_model_opt")}
      options={[{ value: "", text: t("batch_model_column") }, ...models.map((model) => ({ value: model, text: model }))]}
      value={chosen}
    />
  );
};

const TextForm = ({ choices, text, model }: { choices: Choice[]; text: string | undefined; model: string | undefined }) => {
  const { t } = useAround();
  return (
    <form method="post" action={`${path}/lines`} enctype="multipart/form-data" class="stack">
      <TextArea
        name="text"
        class="code-in"
        label={t("batch_text")}
        hint={t("batch_text_hint")}
        rows={10}
        placeholder={sample}
        spellcheck={false}
        value={text}
      />
      <div class="cols">
        <TextField name="table" type="file" label={t("batch_table")} accept=".csv,.tsv,text/csv,text/tab-separated-values" />
        <ModelChoice choices={choices} chosen={model} />
      </div>
      <p class="row">
        <Button class="btn primary" text={t("batch_check")} />
      </p>
    </form>
  );
};

async function askForLines(c: ConsoleContext, from: "file" | "text", { problem, text, model, status = 200 }: Shown = {}) {
  const { t } = c.var;
  return page(
    c,
    t("batch_new"),
    <div class="stack">
      <Problem text={problem} />
      <div>
        <Ways from={from} />
      </div>
      {from === "file" ? <FileForm /> : <TextForm choices={await readChoices(c)} text={text} model={model} />}
    </div>,
    status,
    { width: "slim", lead: t("batch_new_lead") },
  );
}

interface Typed {
  field: (name: string) => string;
  problems: FieldProblem[];
  problem: string | undefined;
  status: PageStatus;
}

const Faults = ({ checked }: { checked: Checked }) => {
  const { t, language } = useAround();
  const { faults, refused } = checked;
  if (faults.length === 0) return null;
  return (
    <section>
      <SectionHead title={t("batch_refused_lines")}>
        <span class="tag">{refused.toLocaleString(language)}</span>
      </SectionHead>
      <DataTable
        label={t("batch_refused_lines")}
        rows={faults}
        columns={[
          { name: t("batch_line"), isNumber: true, cell: ({ line }) => line.toLocaleString(language) },
          {
            name: t("batch_own_id"),
            class: "cut",
            cell: ({ customId }) => (customId === undefined ? "–" : <code>{customId}</code>),
          },
          { name: t("admin_reason"), class: "wrap", cell: ({ text }) => text },
        ]}
      />
      {refused > faults.length && (
        <p class="meta pt">{t("batch_first_of", { shown: faults.length, all: refused.toLocaleString(language) })}</p>
      )}
    </section>
  );
};

const Models = ({ c, checked }: { c: ConsoleContext; checked: Checked }) => {
  const { t, language } = useAround();
  return (
    <section>
      <h2 class="vh">{t("models")}</h2>
      <DataTable
        label={t("models")}
        rows={checked.models}
        columns={[
          { name: t("model"), cell: ({ model }) => model },
          { name: t("batch_lines"), isNumber: true, cell: ({ lines }) => lines.toLocaleString(language) },
          { name: t("price"), isNumber: true, cell: ({ price }) => formatAmount(c, price) },
        ]}
      />
    </section>
  );
};

interface StartProps {
  c: ConsoleContext;
  file: string;
  checked: Checked;
  destinations: Destination[];
  typed: Typed | undefined;
}

const StartForm = ({ c, file, checked, destinations, typed }: StartProps) => {
  const { t } = useAround();
  const error = (name: string) => typed?.problems.find(({ field }) => field === name)?.text;
  // The address has what a batch was begun with whose lines are sent again.
  const value = (name: string, fallback: string) => typed?.field(name) ?? c.req.query(name) ?? fallback;
  return (
    <form method="post" action={path} class="stack gap">
      <input type="hidden" name="file" value={file} />
      <input type="hidden" name="key" value={value("key", crypto.randomUUID())} />
      <input type="hidden" name="prefix" value={value("prefix", "")} />
      <TextField
        name="reference"
        label={t("name")}
        opt={t("optional")}
        maxlength={128}
        value={value("reference", "")}
        error={error("reference")}
      />
      <div class="cols">
        <TextField
          name="max_cost"
          label={t("usage_limit")}
          opt={balanceUnit(c.env)}
          inputmode="decimal"
          value={value("max_cost", decimal(checked.price))}
          hint={t("batch_limit_hint")}
          error={error("max_cost")}
        />
        <TextField
          name="concurrency"
          type="number"
          label={t("batch_at_once")}
          min={1}
          max={100}
          value={value("concurrency", String(defaultConcurrency))}
          hint={t("batch_at_once_hint")}
          error={error("concurrency")}
        />
      </div>
      <TextField
        name="callback_url"
        type="url"
        label={t("batch_callback")}
        opt={t("optional")}
        value={value("callback_url", "")}
        hint={t("batch_callback_hint")}
        error={error("callback_url")}
      />
      {destinations.length > 0 && (
        <SelectField
          name="deliver_to"
          label={t("deliver_to")}
          options={[{ value: "", text: t("deliver_nowhere") }, ...destinations.map(({ name }) => ({ value: name, text: name }))]}
          value={value("deliver_to", "")}
          hint={t("deliver_to_hint")}
          error={error("deliver_to.destination")}
        />
      )}
      <p class="row">
        <Button class="btn primary" text={t("batch_start", { price: formatAmount(c, checked.price) })} />
        <Link class="btn" href={`${path}/new`} text={t("batch_other_lines")} />
      </p>
    </form>
  );
};

/** What the lines of a file cost, what is wrong with them, and the form. */
async function review(c: ConsoleContext, file: string, typed?: Typed) {
  const { t, language } = c.var;
  const checked = await checkFile(c, file);
  if (!checked) return askForLines(c, "file", { problem: t("batch_file_gone"), status: 404 });
  const runnable = checked.lines - checked.refused;
  const listed = await askGateway(c, "/v1/destinations");
  // A batch can be begun without them.
  const destinations = listed.ok ? await readDestinations(listed) : [];
  return page(
    c,
    t("batch_new"),
    <>
      {typed && typed.problems.length > 0 ? <FieldProblems problems={typed.problems} /> : <Problem text={typed?.problem} />}
      <Stats
        of={[
          [t("batch_lines"), checked.lines.toLocaleString(language), t("batch_lines_run", { count: runnable.toLocaleString(language) })],
          [t("price"), formatAmount(c, checked.price), t("batch_price_hint")],
          [t("batch_refused"), checked.refused.toLocaleString(language), t("batch_refused_hint")],
        ]}
      />
      {checked.isTooLong && <Note tone="bad">{t("batch_too_long")}</Note>}
      {runnable === 0 && !checked.isTooLong && <Note tone="bad">{t("batch_nothing_runs")}</Note>}
      {runnable > 0 && <Models c={c} checked={checked} />}
      {runnable > 0 && !checked.isTooLong ? (
        <StartForm c={c} file={file} checked={checked} destinations={destinations} typed={typed} />
      ) : (
        <p class="gap">
          <Link class="btn" href={`${path}/new`} text={t("batch_other_lines")} />
        </p>
      )}
      <Faults checked={checked} />
    </>,
    typed?.status ?? 200,
    { width: "slim", lead: t("batch_review_lead") },
  );
}

/** `GET /console/batches/new?file=&from=` */
export function newBatch(c: ConsoleContext) {
  const file = c.req.query("file");
  return file === undefined ? askForLines(c, c.req.query("from") === "text" ? "text" : "file") : review(c, file);
}

/** Stores a form with a file of lines, and shows what they cost. */
async function keep(c: ConsoleContext, body: BodyInit, type?: string): Promise<Response | Refusal> {
  const headers = type === undefined ? {} : { "content-type": type };
  const answer = await askGateway(c, "/v1/files", { method: "POST", headers, body });
  if (!answer.ok) return readRefusal(answer);
  const { id, type: found } = await readFile(answer);
  if (found !== "application/jsonl") return { text: c.var.t("batch_not_lines"), status: 400 };
  return c.redirect(`${path}/new?file=${id}`, 303);
}

/** Lines in memory as a form with a file, named after the table. */
function toForm(text: string, table: string | undefined): FormData {
  const form = new FormData();
  form.set("file", new File([text], `${(table ?? "lines").replace(/\.\w+$/, "")}.jsonl`));
  return form;
}

/** `POST /console/batches/file`: the form is passed on as it arrives, because the file may be larger than memory. */
export async function uploadLines(c: ConsoleContext): Promise<Response> {
  const { body, headers } = c.req.raw;
  const type = headers.get("content-type") ?? "";
  if (!body || !type.startsWith("multipart/form-data")) return askForLines(c, "file", { problem: c.var.t("form_broken"), status: 400 });
  const kept = await keep(c, body, type);
  return kept instanceof Response ? kept : askForLines(c, "file", { problem: kept.text, status: kept.status });
}

/** `POST /console/batches/lines`: text, or a table as a file. */
export async function typeLines(c: ConsoleContext): Promise<Response> {
  const refuse = (problem: string, status: PageStatus, text?: string, model?: string) =>
    askForLines(c, "text", { problem, status, text, model });
  const { t } = c.var;
  try {
    return await inTurn(c.req.raw, c.var.caller.accountId, c.env.RECEIVE, async (request) => {
      const form = await readLargeForm(request);
      const table = form.images.get("table")?.[0];
      if ((table?.size ?? 0) > maxTableBytes) return refuse(t("batch_table_too_large"), 413);
      const typed = form.typed.get("text")?.[0] ?? "";
      const text = table ? readText(table.content) : typed;
      const model = form.typed.get("model")?.[0] ?? "";
      const lines = text.trimStart().startsWith("{") ? text : toLines(text, await readChoices(c), model);
      if (typeof lines === "object" && !Array.isArray(lines)) return refuse(describe(c, lines), 400, typed, model);
      const kept = await keep(c, toForm(typeof lines === "string" ? lines : `${lines.join("\n")}\n`, table?.name));
      return kept instanceof Response ? kept : refuse(kept.text, kept.status, typed, model);
    });
  } catch (error) {
    if (!(error instanceof BadForm)) throw error;
    const problems = { 400: "form_broken", 408: "form_late", 413: "batch_table_too_large", 503: "form_busy" } as const;
    return refuse(t(problems[error.status]), error.status);
  }
}

/** The text of a file's pieces. */
function readText(pieces: Uint8Array[]): string {
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
}

function describe(c: ConsoleContext, problem: TableProblem): string {
  const { t } = c.var;
  if (problem.is !== "unknown_columns") return t(`batch_table_${problem.is}`);
  return t("batch_table_columns", { columns: problem.columns.join(", "), allowed: problem.allowed.join(", ") });
}

/** `POST /console/batches`: begins the batch. The same form sent twice is one batch. */
export async function startBatch(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const field = await readForm(c);
  const file = field("file");
  const limit = parseQuota(field("max_cost"));
  if (limit === undefined)
    return review(c, file, { field, problems: [{ field: "max_cost", text: t("batch_bad_limit") }], problem: undefined, status: 400 });
  const concurrency = field("concurrency");
  const body = {
    input_file: file,
    ...(limit !== null && { max_cost: toUnits(limit) }),
    ...(concurrency !== "" && { concurrency: Number.isFinite(Number(concurrency)) ? Number(concurrency) : concurrency }),
    ...(field("callback_url") !== "" && { callback_url: field("callback_url") }),
    ...(field("deliver_to") !== "" && {
      deliver_to: { destination: field("deliver_to"), ...(field("prefix") !== "" && { prefix: field("prefix") }) },
    }),
    ...(field("reference") !== "" && { reference: field("reference") }),
  };
  const answer = await askGateway(c, "/v1/batches", withJson("POST", body, field("key")));
  if (answer.ok) return c.redirect(`${path}/${(await readBatch(answer)).id}`, 303);
  const { message: problem, details = [] } = await readError(answer);
  const labels: Record<string, string> = {
    reference: t("name"),
    max_cost: t("usage_limit"),
    concurrency: t("batch_at_once"),
    callback_url: t("batch_callback"),
    "deliver_to.destination": t("deliver_to"),
  };
  const problems = details.flatMap(({ param, message }) =>
    Object.hasOwn(labels, param) ? [{ field: param, text: `${labels[param]}: ${message}` }] : [],
  );
  return review(c, file, { field, problems, problem, status: toPageStatus(answer.status) });
}
