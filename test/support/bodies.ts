/** Bodies at both sides of a limit: helpers that send many bodies to one path, and that build them. */

import { expect } from "vitest";
import { readBalance, call, newAccount } from "./gateway.ts";
import { expectNoTrace, expectRefusedFor } from "./refusal.ts";

/** A body, the parameters that are echoed, and the price that is reserved, in balance units. */
export type Row = [body: object, told: object, reserved: number];

/** Each body is accepted: its parameters are echoed with all defaults, and their price is reserved. */
export const accepting = (path: string) => async (rows: Row[]) => {
  const account = await newAccount();
  let held = 0;
  for (const [body, told, reserved] of rows) {
    const answer = await call(path, { key: account.key, body });
    expect(answer.status, JSON.stringify([body, answer.body])).toBe(200);
    expect(answer.body.metadata).toEqual({ ...told, reserved: expect.closeTo(reserved, 9) });
    held += reserved;
  }
  expect((await readBalance(account)).reserved).toBeCloseTo(held, 6);
};

/** Each body is refused because of this one field, and none leaves a trace. */
export const refusing = (path: string) => async (param: string, bodies: object[]) => {
  const account = await newAccount();
  for (const body of bodies) expectRefusedFor(param, await call(path, { key: account.key, body }), body);
  await expectNoTrace(account);
};

/** One body per value, each with only this field. */
export const each = (field: string, values: readonly unknown[]) => values.map((value) => ({ [field]: value }));
export const inMetadata = (field: string, values: readonly unknown[]) => each("metadata", each(field, values));

/** Every body for every model. */
export const ofModels = (models: readonly string[], prompt: string, bodies: object[]) =>
  models.flatMap((model) => bodies.map((body) => ({ model, prompt, ...body })));

/** This many URLs of public images. */
export const urls = (count: number) => Array.from({ length: count }, (_, at) => `https://pictures.example/${at}.png`);

/** A task id that was never issued. */
export const neverIssued = "task_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
