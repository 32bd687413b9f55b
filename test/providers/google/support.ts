/** Shared by the tests of Google's videos: how tasks end, and the requests that the emulator received. */

import { expect } from "vitest";
import { readBalance } from "../../support/gateway.ts";
import { countAll, generate, type Routes, sent } from "../support.ts";

export const videos = "/v1/videos/generations";
export const model = "vidB-3.1-fast";

/** The body of the first submission. */
export const readStart = async (prompt: string) => (await sent(prompt))[0];

/** The body of the last submission. */
export const lastStartOf = async (prompt: string) => (await sent(prompt)).at(-1);

/** The video fails with this code, nothing is charged, and it was submitted this many times. */
export async function endsAs(routes: Routes, code: string, prompt: string, starts: number): Promise<void> {
  const { account, data } = await generate(routes, videos, { model, prompt });
  expect(data).toMatchObject({ status: "failed", error: { code } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await countAll(prompt, "start")).toBe(starts);
}
