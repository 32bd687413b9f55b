/** Reads a form with images part by part: each image is in memory once. */

import { getMultipartBoundary, MultipartParseError, parseMultipartStream } from "@remix-run/multipart-parser";
import { boundedBody } from "../../net/bounded-body.ts";
import type { Receive } from "../../rpc/gateway-api.ts";
import { NetError } from "../../net/net-error.ts";
import { paceTimeMs, within } from "../../net/pace.ts";
import { Semaphore } from "../../base/concurrency.ts";
import type { Typed } from "./fields.ts";
import { ImageFile } from "./image-file.ts";
import { BadForm } from "../forms.ts";

const MiB = 1024 * 1024;
/** The API's size limit of an image. */
export const maxImageBytes = 10 * MiB;
/** The size of five such images and the other values. */
const maxFormBytes = 52 * MiB;
/** Forms up to this size need no permit. */
const smallEnough = MiB;

export interface Form {
  typed: Typed;
  images: Map<string, ImageFile[]>;
}

/** Fields that contain only the name of an image: the preview during typing sends no files. */
const nameEnding = ".name";
/** More images than a field allows; the page writes each of them into the code examples. */
const maxNames = 50;

/** Decodes the characters that browsers escape in a file name. */
const decodeName = (filename: string) =>
  filename.replace(/%(22|0D|0A)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** Reads a form that may have files. Throws `BadForm`. */
export async function readLargeForm(request: Request): Promise<Form> {
  const form: Form = { typed: new Map(), images: new Map() };
  const add = <T>(map: Map<string, T[]>, name: string, value: T) => {
    const list = map.get(name);
    if (list) list.push(value);
    else map.set(name, [value]);
  };
  const type = request.headers.get("content-type") ?? "";
  const boundary = getMultipartBoundary(type) ?? "";
  if (!request.body) throw new BadForm(400);
  if (Number(request.headers.get("content-length") ?? 0) > maxFormBytes) throw new BadForm(413);
  const isMultipart = type.startsWith("multipart/form-data");
  const body = boundedBody(request.body, { maxBytes: isMultipart ? maxFormBytes : smallEnough });
  const read = async () => {
    if (!isMultipart) for (const [name, value] of new URLSearchParams(await new Response(body).text())) add(form.typed, name, value);
    else
      for await (const part of parseMultipartStream(body, { boundary, maxFileSize: maxFormBytes, maxTotalSize: maxFormBytes })) {
        const { name = "", filename } = part;
        if (filename === undefined) add(form.typed, name, part.text);
        else if (filename !== "") add(form.images, name, new ImageFile(decodeName(filename), part.content));
      }
  };
  try {
    await within(paceTimeMs(Number(request.headers.get("content-length") ?? smallEnough)), read());
  } catch (error) {
    // A `TypeError` also says that bytes are no text.
    const isOfForm = error instanceof NetError || error instanceof MultipartParseError || error instanceof TypeError;
    throw isOfForm ? BadForm.from(error) : error;
  }
  if (!isMultipart)
    for (const [name, [file = ""]] of [...form.typed].filter(([name]) => name.endsWith(nameEnding)).slice(0, maxNames))
      if (file !== "") add(form.images, name.slice(0, -nameEnding.length), new ImageFile(file));
  return form;
}

/** The bytes of the forms in memory: an isolate has 128 MB. The largest form takes all of them, several of an account at most half. */
const turns = new Semaphore({ maxAtOnce: maxFormBytes, allowsLarger: true, maxWaiting: 4, maxHoldMs: 120_000, maxWaitMs: 10_000 });

/**
 * Processes a form of an account. A large form first arrives completely at the gateway, so that a slow sender delays no other form, and then
 * waits for a permit for its size. Throws `BadForm`.
 */
export async function inTurn<T>(request: Request, accountId: string, receive: Receive, work: (request: Request) => Promise<T>): Promise<T> {
  const length = request.headers.get("content-length");
  if (!request.body || (length !== null && Number(length) <= smallEnough)) return work(request);
  if (Number(length ?? 0) > maxFormBytes) throw new BadForm(413);
  const received = await receive(accountId, request.body, maxFormBytes);
  if (!received.ok) throw new BadForm(received.status);
  const arrived = new Request(request, { method: "POST", body: received.body });
  let hasTurn = false;
  const turn = turns.take(
    () => {
      hasTurn = true;
      return work(arrived);
    },
    () => new BadForm(503),
    accountId,
    Number(received.headers.get("content-length")),
  );
  return turn.catch(async (error: unknown) => {
    // Frees what was collected for it.
    if (!hasTurn) await arrived.body?.cancel();
    throw error;
  });
}
