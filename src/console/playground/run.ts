/** Runs a submitted form: one task, the same prompt on several models, or a chat. An error is shown beside its field. */

import type { ConsoleContext } from "../context.ts";
import { shortLabel } from "../messages/playground-fields.ts";
import { toSentence } from "./problem.ts";
import { readError, readPrice, readTask, readTaskId } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import { taskPath } from "../parts/ids.ts";
import { submitOnce } from "../tasks/request.ts";
import { type Images, picturesIn } from "./body.ts";
import { fieldAt } from "./fields.ts";
import { ImageFile } from "./image-file.ts";
import { type Candidate, listCandidates, left, requestIn, type Shown } from "./view.ts";
import { fromUnits } from "../../db/ledger.ts";

/** An error as a page shows it. */
export interface Refused {
  status: number;
  problem: string | undefined;
  problems: Map<string, string[]>;
}

/** The tasks of a run, or the errors. */
export type Outcome = { ids: string[]; refused?: never } | { refused: Refused; ids?: never };

/** Submits the request of a form. `extra` are fields that are not part of the form. */
export function submit(c: ConsoleContext, one: Candidate, images: Images, extra: object = {}, query = ""): Promise<Response> {
  const { path, body } = requestIn(one, images);
  return submitOnce(c, one.typed.get("key")?.[0] ?? "", { path: path + query, body: { ...body, ...extra } });
}

/** Reads an error answer: an error for each field, in plain words. */
export async function readRefused(
  c: ConsoleContext,
  response: Response,
  { fields, choice }: Candidate,
  isCompared = false,
): Promise<Refused> {
  const { t, language } = c.var;
  const error = await readError(response);
  const problems = new Map<string, string[]>();
  const others: string[] = [];
  const of = isCompared ? `${choice.model}: ` : "";
  for (const { param, message } of error.details ?? []) {
    const field = fieldAt(fields, param);
    const [, item] = /\[(\d+)\]/.exec(param) ?? [];
    if (field) {
      const subject =
        field.as === "pictures" && item !== undefined ? t("image_of", { number: Number(item) + 1 }) : shortLabel(language, field.name);
      problems.set(field.name, [...(problems.get(field.name) ?? []), of + toSentence(language, subject, message)]);
    } else others.push(`${of}${param}: ${message}`);
  }
  const problem = others.length > 0 ? others.join(" · ") : problems.size === 0 ? of + error.message : undefined;
  return { status: response.status, problem, problems };
}

/**
 * Downloads images of the account's own tasks as files, because the gateway accepts no URLs of its own host. Throws if one no longer
 * exists.
 */
async function withTaskImages(c: ConsoleContext, { typed }: Shown, images: Images): Promise<Images | Refused> {
  const all = new Map(images);
  for (const [place, { at, task }] of picturesIn(typed, images).entries()) {
    if (task === "") continue;
    const file = await openPicture(c, task);
    if (!file) {
      const text = `${c.var.t("image_of", { number: place + 1 })}: ${c.var.t("image_gone")}`;
      return { status: 400, problem: undefined, problems: new Map([["pictures", [text]]]) };
    }
    const bytes = new Uint8Array(await file.response.arrayBuffer());
    all.set(`pictures.${at}`, [new ImageFile(file.name, [bytes])]);
  }
  return all;
}

/** An image of the account's task, by `task_…/0`: its bytes from the gateway. */
export async function openPicture(c: ConsoleContext, from: string): Promise<{ response: Response; name: string } | undefined> {
  const [id = "", number = "0"] = from.split("/");
  const answer = await askGateway(c, taskPath(id));
  if (!answer.ok) return undefined;
  const { result } = await readTask(answer);
  const url = result && "images" in result ? URL.parse(result.images[Number(number)]?.url[0] ?? "") : null;
  if (!url) return undefined;
  const response = await askGateway(c, url.pathname + url.search);
  return response.ok ? { response, name: url.pathname.split("/").at(-1) ?? "" } : undefined;
}

/** Runs one model, or all of a comparison: then each is checked first, so that either all run or none. */
export async function run(c: ConsoleContext, shown: Shown): Promise<Outcome> {
  const images = await withTaskImages(c, shown, shown.images ?? new Map());
  if (!(images instanceof Map)) return { refused: images };
  const candidates = listCandidates(shown);
  const isCompared = candidates.length > 1;
  if (isCompared) {
    const refused = await checkAll(c, candidates, images);
    if (refused) return { refused };
  }
  const ids: string[] = [];
  let refused: Refused | undefined;
  for (const one of candidates) {
    const response = await submit(c, one, images);
    if (response.ok) ids.push(await readTaskId(response));
    else refused ??= await readRefused(c, response, one, isCompared);
  }
  return ids.length === 0 && refused ? { refused } : { ids };
}

/** Requests each price, and checks that the balance covers the sum. */
async function checkAll(c: ConsoleContext, candidates: Candidate[], images: Images): Promise<Refused | undefined> {
  let sum = 0;
  for (const one of candidates) {
    const response = await submit(c, one, images, {}, "?dry_run=true");
    if (!response.ok) return readRefused(c, response, one, true);
    sum += fromUnits(await readPrice(response));
  }
  const remaining = await left(c);
  return remaining === null || sum <= remaining ? undefined : { status: 402, problem: c.var.t("too_dear"), problems: new Map() };
}
