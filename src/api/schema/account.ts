/** Schemas of answers about an account: its balance, its usage, its characters. */

import * as z from "zod/mini";
import { amount, characterId, count, listAnswer, time } from "./shared.ts";

export const balance = z.strictObject({
  success: z.literal(true),
  remain_balance: z.number().check(z.gte(-1), z.describe("-1 if there is no limit.")),
  used_balance: amount.check(z.describe("Settled charges; reservations do not count.")),
  unlimited_quota: z.boolean(),
});

const used = {
  charged: amount,
  returned: amount.check(z.describe("Reserved and returned.")),
  completed: count,
  failed: count,
};
export const usageList = z.strictObject({
  object: z.literal("list"),
  data: z.union([
    z.array(z.strictObject({ day: z.string().check(z.regex(/^\d{4}-\d{2}-\d{2}$/)), ...used })),
    z.array(z.strictObject({ model: z.string(), ...used })),
    z.array(z.strictObject({ key: z.string(), ...used })),
    z.array(z.strictObject({ reference: z.nullable(z.string()).check(z.describe("null is the sum of all tasks without one.")), ...used })),
  ]),
});

export const character = z.strictObject({
  id: characterId,
  object: z.literal("character"),
  username: z.string().check(z.describe("Write `@username` in a video's prompt to use the character.")),
  display_name: z.string(),
  profile_picture_url: z.url(),
  expires_at: time.check(z.describe("Until when the image's URL works; each answer has a new URL.")),
  model: z.string(),
  created_at: time,
});
export const characterList = listAnswer(character);
