/** The record of a submission, for tests of transitions. */

import type { Submission } from "../../src/tasks/record.ts";

/** Two images from one provider. */
export const submission: Submission = {
  base: "https://gateway.example",
  language: "en",
  host: "gateway.example",
  requestId: "request",
  accountId: "acc_1",
  keyId: "key_1",
  kind: "image",
  model: "imgA-4",
  routes: [{ provider: "first", model: "a" }],
  parameters: { prompt: "a fox", n: 2 },
  inputs: [],
  characters: [],
  price: 60_000,
  imagePrice: 30_000,
  priceRule: { unit: "USD", version: "1", amounts: { image: 0.03 } },
  bodyDigest: null,
  typicalSeconds: 10,
  deadlineSeconds: 120,
};
