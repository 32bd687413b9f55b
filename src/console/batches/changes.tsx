/** What can be done with a batch: cancelling it, repeating its failed lines, and downloading lines and results. */

import type { ConsoleContext } from "../context.ts";
import { readBatch, readFile, readRefusal } from "../answers.ts";
import { sendFile } from "../downloads.ts";
import { readForm } from "../forms.ts";
import { nothingHere, page } from "../frame.tsx";
import { askGateway, withJson } from "../gateway.ts";
import { Question } from "../parts/question.tsx";
import { batchPage } from "./batch.tsx";
import { batchName, batchPath, hasEnded } from "./state.tsx";
import { toUnits } from "../../db/ledger.ts";

/** The longest reference that the API takes. */
const longestName = /^.{0,128}/u;

/** `GET /console/batches/{id}/cancel`: asks for confirmation. */
export async function askToCancel(c: ConsoleContext, id: string) {
  const { t } = c.var;
  const answer = await askGateway(c, batchPath(id));
  if (!answer.ok) return nothingHere(c);
  const batch = await readBatch(answer);
  if (hasEnded(batch)) return c.redirect(`/console/batches/${batch.id}`, 303);
  return page(
    c,
    t("batch_cancel_ask", { name: batchName(batch) }),
    <Question
      text={t("batch_cancel_warning")}
      yes={t("batch_cancel")}
      icon="stop"
      back={`/console/batches/${batch.id}`}
      no={t("batch_keep")}
    />,
    200,
    { width: "slim" },
  );
}

/** `POST /console/batches/{id}/cancel` and `/delivery`. A batch that has ended meanwhile is shown as it is. */
export const changeBatch =
  (what: "cancel" | "delivery") =>
  async (c: ConsoleContext): Promise<Response> => {
    const id = c.req.param("id") ?? "";
    const answer = await askGateway(c, `${batchPath(id)}/${what}`, { method: "POST" });
    if (answer.status === 404) return nothingHere(c);
    if (answer.ok || answer.status === 409) return c.redirect(`/console/batches/${id}${what === "delivery" ? "#delivery" : ""}`, 303);
    return batchPage(c, id, await readRefusal(answer));
  };

/** The input of failed lines as a stream of JSON lines; undefined if the account has no such batch. */
async function openFailed(c: ConsoleContext, id: string, code: string | undefined): Promise<ReadableStream<Uint8Array> | undefined> {
  const { accountId, ownWallets } = c.var.caller;
  const read = (from: number) => c.env.API.failedInput(accountId, id, code, from, ownWallets);
  let part = await read(0);
  if (!part) return undefined;
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A part of refused lines only has no text.
        while (part && part.text === "" && part.next !== undefined) part = await read(part.next);
        if (!part) return controller.error(new Error("the batch is gone"));
        if (part.text !== "") controller.enqueue(encoder.encode(part.text));
        if (part.next === undefined) return controller.close();
        part = await read(part.next);
      },
    },
    { highWaterMark: 0 },
  );
}

/** `GET /console/batches/{id}/failed.jsonl?code=`: the input of the failed lines that may succeed another time. */
export async function downloadFailed(c: ConsoleContext, id: string) {
  const lines = await openFailed(c, id, c.req.query("code"));
  return lines ? sendFile(c, `${id}-failed.jsonl`, "application/jsonl", lines) : nothingHere(c);
}

/** `GET /console/batches/{id}/results.jsonl` */
export async function downloadResults(c: ConsoleContext, id: string) {
  const answer = await askGateway(c, `${batchPath(id)}/results`);
  return answer.ok && answer.body ? sendFile(c, `${id}.jsonl`, "application/jsonl", answer.body) : nothingHere(c);
}

/** `GET /console/batches/{id}/files.zip` */
export async function downloadFiles(c: ConsoleContext, id: string) {
  const answer = await askGateway(c, `${batchPath(id)}/files.zip`);
  return answer.ok && answer.body ? sendFile(c, `${id}.zip`, "application/zip", answer.body) : nothingHere(c);
}

/**
 * `POST /console/batches/{id}/repeat`: a batch of the failed lines, or of those with one reason, whose limit is the price that the button
 * named. The same form sent twice is one batch. Without a price, because some of the lines are not checked, they are shown with it first.
 */
export async function repeatFailed(c: ConsoleContext, id: string) {
  const { t } = c.var;
  const field = await readForm(c);
  const [found, lines] = await Promise.all([askGateway(c, batchPath(id)), openFailed(c, id, field("code") || undefined)]);
  if (!found.ok || !lines) return nothingHere(c);
  const batch = await readBatch(found);
  const price = Number(field("price"));
  const stored = await askGateway(c, "/v1/files", { method: "POST", headers: { "content-type": "application/jsonl" }, body: lines });
  if (!stored.ok) return batchPage(c, id, await readRefusal(stored));
  const { id: file } = await readFile(stored);
  const reference = longestName.exec(t("batch_again_name", { name: batchName(batch) }))?.[0];
  if (field("price") === "") {
    const { destination = "", prefix = "" } = batch.deliver_to ?? {};
    const begun = { file, reference: reference ?? "", concurrency: String(batch.concurrency), deliver_to: destination, prefix };
    return c.redirect(`/console/batches/new?${new URLSearchParams(begun)}`, 303);
  }
  const again = {
    input_file: file,
    concurrency: batch.concurrency,
    deliver_to: batch.deliver_to,
    reference,
    ...(Number.isSafeInteger(price) && price > 0 && { max_cost: toUnits(price) }),
  };
  const begun = await askGateway(c, "/v1/batches", withJson("POST", again, field("key")));
  if (!begun.ok) return batchPage(c, id, await readRefusal(begun));
  return c.redirect(`/console/batches/${(await readBatch(begun)).id}`, 303);
}
