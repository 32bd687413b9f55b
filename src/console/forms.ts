/** Reads the forms of all pages except those with large files, which `playground/images.ts` reads. */

import type { ConsoleContext } from "./context.ts";
import type { Account } from "../db/accounts.ts";
import { readAll } from "../net/bounded-body.ts";
import { NetError } from "../net/net-error.ts";
import { paceTimeMs, within } from "../net/pace.ts";

const statuses = { too_large: 413, timeout: 408 } as const;

/** Thrown if a body is not a form, arrives too slowly, is too large, or if too many are arriving: its sender may not be signed in. */
export class BadForm extends Error {
  readonly status: 400 | 408 | 413 | 503;

  constructor(status: number, cause?: unknown) {
    super("bad form", { cause });
    this.status = status === 408 || status === 413 || status === 503 ? status : 400;
  }

  /** For an error while the body was read. */
  static from(cause: unknown): BadForm {
    const reason = cause instanceof NetError ? cause.reason : undefined;
    return new BadForm(reason === "too_large" || reason === "timeout" ? statuses[reason] : 400, cause);
  }
}

/** The largest form without files. */
const maxFormBytes = 256 * 1024;
/** Many forms of this size fit into memory. Larger ones arrive at the gateway, which counts them by account, and those of visitors together. */
const smallForm = 64 * 1024;

/** Reads the body into memory. Throws `BadForm`. */
export async function readBody(c: ConsoleContext): Promise<Response> {
  const { body, headers } = c.req.raw;
  const type = { headers: { "content-type": headers.get("content-type") ?? "" } };
  if (!body) return new Response("", type);
  const length = headers.get("content-length");
  if (length === null || Number(length) > smallForm) {
    const account = c.var.account as Account | undefined;
    const arrived = await c.env.RECEIVE(account?.id ?? "visitors", body, maxFormBytes);
    if (!arrived.ok) throw new BadForm(arrived.status, await arrived.text());
    return new Response(arrived.body, type);
  }
  const bytes = within(paceTimeMs(Number(length)), readAll(body, smallForm));
  return new Response(await bytes.catch((cause: unknown) => Promise.reject(BadForm.from(cause))), type);
}

/** A form with several values for a name, or whose text is kept as it was typed. Throws `BadForm`. */
export async function readFormData(c: ConsoleContext): Promise<FormData> {
  const sent = await readBody(c);
  return sent.formData().catch((cause: unknown) => Promise.reject(BadForm.from(cause)));
}

/** A form's field as trimmed text; empty if it is missing or a file. Throws `BadForm`. */
export async function readForm(c: ConsoleContext): Promise<(name: string) => string> {
  const form = await readFormData(c);
  return (name) => {
    const value = form.get(name);
    return typeof value === "string" ? value.trim() : "";
  };
}
