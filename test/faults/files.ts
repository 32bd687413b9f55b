/** The operations of a run with callers' own files: uploaded, named by submissions, read and deleted. */

import { expect } from "vitest";
import { png } from "../media/images.ts";
import type { Account } from "../support/gateway.ts";
import { submit } from "./submissions.ts";
import type { World } from "./world.ts";

/** An uploaded file. */
export interface KnownFile {
  account: Account;
  id: string;
  /** The last byte, by which files differ. */
  mark: number;
  /** Milliseconds */
  at: number;
  isDeleted?: boolean;
}

const content = (mark: number) => new Uint8Array([...png, mark]);
/** Shorter than a file lives. */
const dayMs = 80_000_000;

/** The files that are there. */
export const kept = ({ files, isRestored }: World) =>
  files.filter(({ isDeleted, at }) => !isDeleted && !isRestored && Date.now() < at + dayMs);

/** Uploads a file: often one that the account has already, whose bytes are kept once. */
export async function upload(world: World): Promise<string> {
  const { random } = world;
  const account = random.pick(world.accounts);
  const mark = random.int(1, 2);
  const headers = { "content-type": "image/png" };
  const { status, body } = await world.call(account, "/v1/files", { method: "POST", body: content(mark).buffer, headers });
  if (status === 201) world.files.push({ account, id: body.id as string, mark, at: Date.now() });
  return String(status);
}

/** Submits an image with a file. */
export async function submitFile(world: World): Promise<string> {
  const files = kept(world);
  if (files.length === 0) return "none";
  const { account, id } = world.random.pick(files);
  return submit(world, {
    account,
    path: "/v1/images/generations",
    body: { model: "imgA-4", prompt: "A crane", images: [id] },
    kind: "image",
  });
}

export async function deleteFile(world: World): Promise<string> {
  const files = kept(world);
  if (files.length === 0) return "none";
  const file = world.random.pick(files);
  file.isDeleted = true;
  return String((await world.call(file.account, `/v1/files/${file.id}`, { method: "DELETE" })).status);
}

/** Each file that was not deleted has its bytes. */
export async function checkUploads(world: World): Promise<void> {
  for (const { account, id, mark } of kept(world)) {
    const { status, body } = await world.call(account, `/v1/files/${id}/content`);
    expect(status, "a file that was not deleted").toBe(200);
    expect(new Uint8Array(body as ArrayBuffer)).toEqual(content(mark));
  }
}
