/** `/admin/model_drafts`: entries with the schemas that makers publish. */

import { expect, test } from "vitest";
import { asAdmin } from "../support/gateway.ts";

test("a draft has the schema that its maker publishes, hidden and without a price, and is not stored", async () => {
  const draft = (body: object) => asAdmin("/model_drafts", { method: "POST", body });
  const model = "google/nano-banana";
  expect(await draft({ maker: "replicate", model, id: "painter", kind: "image" })).toMatchObject({
    status: 200,
    body: {
      object: "model_draft",
      id: "painter",
      entry: {
        kind: "image",
        body: { type: "object", properties: { prompt: { type: "string" } } },
        price: {},
        state: "hidden",
        routes: [{ provider: "replicate", model }],
      },
    },
  });
  expect((await asAdmin("/models/painter")).status).toBe(404);
  for (const [body, param] of [
    [{ maker: "replicate", model: "nobody/nothing" }, "model"],
    [{ maker: "replicate", model: "no name" }, "model"],
    [{ maker: "nobody", model }, "maker"],
  ] as const)
    expect(await draft(body)).toMatchObject({ status: 400, body: { error: { param } } });
});
