/** `/console/files`: the account's own files: listing, uploading, downloading and deleting them. */

import { Hono } from "hono";
import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { fileById, listFiles, type StoredFile, usedFileBytes } from "../../db/files.ts";
import { readFile, readRefusal, type Refusal } from "../answers.ts";
import { messageFor, nothingHere, page, signedIn } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import { firstRows, withQuery } from "../list-address.ts";
import {
  Button,
  CopiedId,
  cutId,
  DataTable,
  DateTime,
  Empty,
  Icon,
  lengthText,
  Link,
  Pager,
  Problem,
  Question,
  SelectField,
  sizeText,
  TextField,
  typeName,
  useAround,
} from "../parts/index.ts";
import { BatchTabs } from "./tabs.tsx";

const path = "/console/files";
const filesOnPage = 50;
/** The messages after an action. */
const outcomes = { uploaded: "file_uploaded", deleted: "file_deleted" } as const;
/** Shown beside the name without a thumbnail of its own. */
const maxShownBytes = 512 * 1024;
/** Seconds; a day by default. */
const lifetimes = [3_600, 86_400, 259_200, 604_800] as const;

const icons: Record<string, string> = { "application/jsonl": "list", "video/mp4": "film", "video/quicktime": "film" };

const nameOf = ({ name, id }: Pick<StoredFile, "name" | "id">) => name ?? cutId(id);

const FileTable = ({ files: rows }: { files: StoredFile[] }) => {
  const { t, language } = useAround();
  return (
    <DataTable
      label={t("files")}
      class="named"
      rows={rows}
      columns={[
        {
          name: t("file"),
          cell: ({ id, type, bytes, name }) => (
            <a class="plain thing" id={id} href={`${path}/${id}/content`}>
              {type.startsWith("image/") && bytes <= maxShownBytes ? (
                <img class="mini" src={`${path}/${id}/content`} alt="" loading="lazy" />
              ) : (
                <span class="mini blank">
                  <Icon name={icons[type] ?? "image"} />
                </span>
              )}
              <span>
                <b class="clip" title={nameOf({ id, name })}>
                  {nameOf({ id, name })}
                </b>
                <span class="meta">{typeName(type) ?? type}</span>
              </span>
            </a>
          ),
        },
        { name: t("file_size"), isNumber: true, cell: ({ bytes }) => sizeText(language, bytes) },
        { name: t("expires"), isNumber: true, isExtra: true, cell: ({ expiresAt }) => <DateTime ms={expiresAt} /> },
        {
          name: t("id"),
          isNumber: true,
          isExtra: true,
          cell: (file) => (
            <span class="row end">
              <CopiedId id={file.id} of={`id-${file.id}`} name={nameOf(file)} />
            </span>
          ),
        },
        {
          name: "",
          isNumber: true,
          cell: (file) => (
            <span class="row end">
              {file.type === "application/jsonl" && (
                <a
                  class="btn ghost sm"
                  href={`/console/batches/new?file=${file.id}`}
                  aria-label={t("file_run_named", { name: nameOf(file) })}
                >
                  {t("file_run")}
                </a>
              )}
              <Link
                class="btn ghost sm danger"
                href={`${path}/${file.id}/delete`}
                aria-label={t("delete_named", { name: nameOf(file) })}
                text={t("delete")}
              />
            </span>
          ),
        },
      ]}
    />
  );
};

const Upload = () => {
  const { t, language } = useAround();
  return (
    <form method="post" action={path} enctype="multipart/form-data" class="card upload">
      <TextField
        name="file"
        type="file"
        label={t("file")}
        hint={t("file_upload_hint")}
        accept="image/png,image/jpeg,image/webp,video/mp4,video/quicktime,.jsonl"
        required
      />
      <SelectField
        name="expires_in"
        label={t("file_kept")}
        options={lifetimes.map((seconds) => ({
          value: String(seconds),
          text: lengthText(language, 1000 * seconds),
        }))}
        value="86400"
      />
      <Button class="btn primary" icon="upload" text={t("file_upload_do")} />
    </form>
  );
};

async function filesPage(c: ConsoleContext, refusal?: Refusal) {
  const { t, account, language } = c.var;
  const after = c.req.query("after");
  const now = Date.now();
  const [found, used] = await Promise.all([
    listFiles(c.env.DB, c.var.caller, { limit: filesOnPage + 1, after }, now),
    usedFileBytes(c.env.DB, account.id),
  ]);
  const { rows, last } = firstRows(found, filesOnPage);
  return page(
    c,
    t("files"),
    <>
      <BatchTabs at="files" />
      <Problem text={refusal?.text} />
      <Upload />
      <section>
        {rows.length === 0 ? (
          <Empty icon="file" title={t("files_none")} text={t("files_none_hint")}>
            <Link class="btn" href="/docs/files" icon="book" text={t("docs")} />
          </Empty>
        ) : (
          <FileTable files={rows} />
        )}
        {rows.length > 0 && (
          <Pager
            note={t("files_used", { size: sizeText(language, used) })}
            first={after && path}
            next={last && withQuery(path, { after: last.id })}
          />
        )}
      </section>
    </>,
    refusal?.status ?? 200,
    { lead: t("files_lead"), toast: messageFor(c, outcomes, c.req.query("done")) },
  );
}

/** The form is passed on as it arrives, because the file may be larger than memory. */
async function upload(c: ConsoleContext) {
  const { body, headers } = c.req.raw;
  const type = headers.get("content-type") ?? "";
  if (!body || !type.startsWith("multipart/form-data")) return filesPage(c, { text: c.var.t("form_broken"), status: 400 });
  const answer = await askGateway(c, "/v1/files", { method: "POST", headers: { "content-type": type }, body });
  if (!answer.ok) return filesPage(c, await readRefusal(answer));
  return c.redirect(`${path}?done=uploaded#${(await readFile(answer)).id}`, 303);
}

/** The bytes, under the file's own name. */
async function content(c: ConsoleContext, id: string) {
  const file = await fileById(c.env.DB, c.var.caller, id, Date.now());
  const answer = file && (await askGateway(c, `/v1/files/${encodeURIComponent(id)}/content`));
  if (!file || !answer?.ok || !answer.body) return nothingHere(c);
  const isImage = file.type.startsWith("image/");
  return c.body(answer.body, 200, {
    "content-type": file.type,
    "content-length": String(file.bytes),
    "content-disposition": `${isImage ? "inline" : "attachment"}; filename*=UTF-8''${encodeURIComponent(file.name ?? `${id}.${fileEnding(file.type)}`)}`,
  });
}

const fileEnding = (type: string) => (typeName(type) ?? "bin").toLowerCase();

async function askToDelete(c: ConsoleContext, id: string) {
  const { t } = c.var;
  const file = await fileById(c.env.DB, c.var.caller, id, Date.now());
  if (!file) return nothingHere(c);
  const name = nameOf(file);
  return page(
    c,
    t("file_delete_ask", { name }),
    <Question text={t("file_delete_warning")} yes={t("file_delete_do")} icon="bin" back={path} />,
    200,
    { width: "slim" },
  );
}

async function remove(c: ConsoleContext, id: string) {
  const answer = await askGateway(c, `/v1/files/${encodeURIComponent(id)}`, { method: "DELETE" });
  if (answer.status === 404) return nothingHere(c);
  if (!answer.ok) return filesPage(c, await readRefusal(answer));
  return c.redirect(`${path}?done=deleted`, 303);
}

export const files = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => filesPage(c))
  .post("/", upload)
  .get("/:id/content", (c) => content(c, c.req.param("id")))
  .get("/:id/delete", (c) => askToDelete(c, c.req.param("id")))
  .post("/:id/delete", (c) => remove(c, c.req.param("id")));
