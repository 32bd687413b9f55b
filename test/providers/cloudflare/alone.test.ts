/** With only the `[ai]` binding, without provider keys, sandbox or `[media]`, every model with a route to Cloudflare's catalog works. */

import { expect, test } from "vitest";
import { providerSecrets } from "../../../scripts/deploy/parts.ts";
import { builtInRoutes } from "../../support/models.ts";
import { call, deliver, newAccount, pass } from "../../support/gateway.ts";
import { images, videos } from "./support.ts";

const alone = {
  ...Object.fromEntries(
    Object.values(providerSecrets)
      .flat(2)
      .map((name) => [name, undefined]),
  ),
  SANDBOX: undefined,
  MEDIA: undefined,
} as unknown as Partial<Env>;

/** The models with a Cloudflare route in `models.txt`. */
const models = Object.entries(builtInRoutes())
  .filter(([, routes]) => routes.some(({ provider }) => provider === "cloudflare"))
  .map(([model]) => model);

test("exactly these models are offered", async () => {
  const { key } = await newAccount();
  const offered = await call("/v1/models", { key, vars: alone });
  expect((offered.body.data as { id: string }[]).map(({ id }) => id).sort()).toEqual(models.sort());
  expect(models.length).toBeGreaterThan(10);
});

test.each(models.filter((model) => model.startsWith("text")))("%s answers", async (model) => {
  const { key } = await newAccount();
  const answer = await call("/v1/chat/completions", { key, vars: alone, body: { model, messages: [{ role: "user", content: "Hello" }] } });
  expect([answer.status, answer.body.choices?.[0]?.message.content]).toEqual([200, expect.stringMatching(/\S/)]);
});

test.each(models.filter((model) => !model.startsWith("text")))("%s makes a file", async (model) => {
  const { key } = await newAccount();
  const submitted = await call(model.startsWith("img") ? images : videos, { key, vars: alone, body: { model, prompt: "A lighthouse" } });
  expect([submitted.status, submitted.body]).toEqual([200, expect.anything()]);
  const id = submitted.body.id as string;
  for (let round = 0; round < 12; round++) {
    await deliver(id, "gateway-dispatch", alone);
    const { data } = (await call(`/v1/tasks/${id}`, { key, vars: alone })).body;
    if (data.status === "completed" || data.status === "failed") {
      expect([data.status, data.error]).toEqual(["completed", undefined]);
      return;
    }
    await pass(id, 2);
  }
  throw new Error("it does not end");
});
