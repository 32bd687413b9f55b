/** `VISIBLE_LABEL`: what is sent to makers with a switch for a visible label, and which routes are passed over. Contract 14. */

import { expect, test } from "vitest";
import { call, finish, holdTime, newAccount, unique } from "../support/gateway.ts";
import { sent } from "./support.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
type Route = [provider: string, model: string];
const seedream: Route = ["modelark", "seedream-4-5-251128"];
const seedance: Route = ["modelark", "dreamina-seedance-2-0-fast-260128"];
const byCloudflare: Route = ["cloudflare", "bytedance/seedance-2.0"];
const falImage: Route = ["fal", "fal-ai/bytedance/seedream/v4.5"];

/** Submits with this setting of the operator; the maker's first request, or the refusal. */
async function ask(VISIBLE_LABEL: string, path: string, body: Record<string, unknown>, ...routes: Route[]) {
  const account = await newAccount();
  const prompt = unique();
  const ROUTES = { [body["model"] as string]: routes.map(([provider, model]) => ({ provider, model })) };
  const answer = await call(path, { key: account.key, body: { prompt, ...body }, vars: { ROUTES, VISIBLE_LABEL } });
  if (answer.status !== 200) return { error: answer.body.error };
  const { data } = (await finish(account, answer.body.id, 40)).body;
  expect(data.status).toBe("completed");
  return { request: (await sent(prompt))[0], metadata: data.metadata };
}

const image = { model: "imgA-4" };
const video = { model: "vidC-1-0-pro-fast" };
const longVideo = { model: "vidB-3.1-fast" };

test.each([
  ["off", { watermark: false }],
  ["on", { watermark: true }],
  ["maker", {}],
])("VISIBLE_LABEL = %s: an image and a video at ModelArk are asked for %o", async (label, expected) => {
  for (const [path, body, route] of [
    [images, image, seedream],
    [videos, video, seedance],
  ] as const) {
    const { request, metadata } = await ask(label, path, body, route);
    expect("watermark" in request ? { watermark: request.watermark } : {}).toEqual(expected);
    expect(metadata).not.toHaveProperty("watermark");
  }
});

test("where the interface has the field, the caller's wish holds", async () => {
  for (const label of ["off", "on", "maker"])
    for (const watermark of [undefined, false, true]) {
      const { request } = await ask(label, videos, { model: "vidA-2", metadata: { watermark } }, seedance);
      expect(request.watermark, `${label} ${watermark}`).toBe(watermark ?? false);
    }
});

test("MiniMax labels what an operator routes there for a model without the field", async () => {
  const h3: Route = ["minimax", "MiniMax-H3"];
  expect((await ask("on", videos, longVideo, h3)).request.aigc_watermark).toBe(true);
  for (const label of ["off", "maker"]) expect((await ask(label, videos, longVideo, h3)).request).not.toHaveProperty("aigc_watermark");
});

test("a route without the switch is passed over for a label, and one that cannot leave it to the maker for the maker's default", async () => {
  expect((await ask("on", images, image, falImage, seedream)).request).toMatchObject({ model: seedream[1], watermark: true });
  expect((await ask("off", images, image, falImage, seedream)).request).not.toHaveProperty("watermark");
  expect((await ask("maker", videos, video, byCloudflare, seedance)).request).toMatchObject({ model: seedance[1] });
});

test("without a route that can, the model is not available: no field of the caller's would change it", async () => {
  const { error } = await ask("on", images, image, falImage);
  expect([error.code, error.param]).toEqual(["model_not_available", "model"]);
});

test.each(["MARKS", "VISIBLE_LABEL", "PROOF_DAYS"])("a wrong %s refuses submissions before anything is reserved", async (name) => {
  const { key } = await newAccount();
  const { status } = await call(images, { key, body: { ...image, prompt: unique() }, vars: { [name]: "yes" } });
  expect(status).toBe(500);
});
