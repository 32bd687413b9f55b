/** Bodies at both sides of a limit: what becomes of many of them on one path, and how they are written down. */

import { expect } from "vitest";
import { books, call, newAccount } from "./gateway.ts";
import { expectNoTrace, expectRefusedFor } from "./refusal.ts";

/** A body, the parameters that are told back, and the price that is held, in balance units. */
export type Row = [body: object, told: object, reserved: number];

/** Each body is taken: its parameters are told back with every default, and their price is held. */
export const accepting = (path: string) => async (rows: Row[]) => {
  const account = await newAccount();
  let held = 0;
  for (const [body, told, reserved] of rows) {
    const answer = await call(path, { key: account.key, body });
    expect(answer.status, JSON.stringify([body, answer.body])).toBe(200);
    expect(answer.body.metadata).toEqual({ ...told, reserved: expect.closeTo(reserved, 9) });
    held += reserved;
  }
  expect((await books(account)).reserved).toBeCloseTo(held, 6);
};

/** Each body is refused for the one field, and none leaves a trace. */
export const refusing = (path: string) => async (param: string, bodies: object[]) => {
  const account = await newAccount();
  for (const body of bodies) expectRefusedFor(param, await call(path, { key: account.key, body }), body);
  await expectNoTrace(account);
};

/** A body with this one field for each of the values. */
export const each = (field: string, values: readonly unknown[]) => values.map((value) => ({ [field]: value }));
export const inMetadata = (field: string, values: readonly unknown[]) => each("metadata", each(field, values));

/** Each of the bodies for each of the models. */
export const ofModels = (models: readonly string[], prompt: string, bodies: object[]) =>
  models.flatMap((model) => bodies.map((body) => ({ model, prompt, ...body })));

/** So many public images. */
export const urls = (count: number) => Array.from({ length: count }, (_, at) => `https://pictures.example/${at}.png`);

/** A task's id that no gateway gave out. */
export const neverIssued = "task_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
