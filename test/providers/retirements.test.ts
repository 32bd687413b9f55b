/** The ends of upstream models, from the makers' lists to alerts, and from a route's `retires` to callers. */

import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { readListed, retirementCauses } from "../../src/operations/retirements.ts";
import { Objects } from "../../src/rpc/objects.ts";
import { type ListedRoute } from "../../src/rpc/listed-routes.ts";
import { asAdmin, call, holdTime, newAccount, unique } from "../support/gateway.ts";
import { toEnv } from "../support/models.ts";
import { asked, capture } from "./support.ts";

holdTime();
beforeEach(async () => void (await env.DB.prepare("DELETE FROM upkeep WHERE job = 'models'").run()));

const dayMs = 86_400_000;
const dayAfter = (days: number) => new Date(Date.now() + days * dayMs).toJSON().slice(0, 10);
const openai = (model: string, retires?: string) => ({ provider: "openai", model, ...(retires !== undefined && { retires }) });

/** What the gateway with these routes knows of the OpenAI routes among them. */
async function listed(routes: Record<string, object[]>): Promise<ListedRoute[]> {
  const all = await new Objects(toEnv({ ROUTES: routes })).listRoutes();
  return all.filter(({ model }) => model.includes("["));
}

test("the makers' lists say which models end, and which are gone; the earlier of two days counts", async () => {
  capture();
  const word = unique();
  const ids = [`${word} [ends 2030-02-01]`, `${word} x [ends 2030-03-01]`, `${word} [retired]`, `${word} [broken]`, `${word} []`];
  const routes = { "textA-1": [openai(ids[0]!, "2030-01-01"), openai(ids[1]!, "2030-04-01"), ...ids.slice(2).map((id) => openai(id))] };
  expect(await listed(routes)).toEqual([
    { provider: "openai", model: ids[0], gone: false, retires: "2030-01-01" },
    { provider: "openai", model: ids[1], gone: false, retires: "2030-03-01" },
    { provider: "openai", model: ids[2], gone: true },
    // A maker that does not answer says nothing.
    { provider: "openai", model: ids[3], gone: false },
    { provider: "openai", model: ids[4], gone: false },
  ]);
});

test("Replicate's list lacks what is gone; another service with OpenAI's format is not asked", async () => {
  const word = unique();
  const routes = {
    "imgA-4": [
      { provider: "replicate", model: "bytedance/seedream-4.5" },
      { provider: "replicate", model: `bytedance/${word}` },
    ],
    "textA-1": [openai(`${word} [retired]`)],
  };
  const all = await new Objects(toEnv({ OPENAI_BASE_URL: "https://other.example/v1", ROUTES: routes })).listRoutes();
  const isGone = (model: string) => all.find((route) => route.model === model)?.gone;
  expect([isGone("bytedance/seedream-4.5"), isGone(`bytedance/${word}`), isGone(`${word} [retired]`)]).toEqual([false, true, false]);
  expect((await asked(word)).map(({ call: name }) => name)).toEqual([]);
});

test("fal's list is asked about the endpoint of a route's family; what it lacks or calls deprecated is gone", async () => {
  const word = unique();
  const ids = ["fal-ai/veo3.1/fast", `fal-ai/${word}`, `fal-ai/${word}/text-to-image`, `${word} [deprecated]`];
  const vars = { ROUTES: { "imgA-4": ids.map((model) => ({ provider: "fal", model })) } };
  const isGone = (all: ListedRoute[]) => ids.map((id) => all.find(({ provider, model }) => provider === "fal" && model === id)?.gone);
  expect(isGone(await new Objects(toEnv(vars)).listRoutes())).toEqual([false, true, true, true]);
  expect((await asked(word)).map(({ prompt }) => prompt)).toEqual(ids.slice(1));
  expect(isGone(await new Objects(toEnv({ ...vars, FAL_BASE_URL: "https://other.example" })).listRoutes())).toEqual(ids.map(() => false));
  expect(await asked(word)).toHaveLength(3);
});

test("none of the built-in routes is gone at the makers whose lists are read", async () => {
  const all = await new Objects(env).listRoutes();
  expect(all.filter(({ gone }) => gone)).toEqual([]);
  for (const provider of ["openai", "fal", "replicate", "cloudflare"]) expect(all.some((route) => route.provider === provider)).toBe(true);
});

test.each([
  ["binding", {}],
  ["rest", { AI: undefined as never }],
])("Cloudflare's list has the models that it hosts, and when it ends them: by the %s", async (door, vars) => {
  const word = unique();
  const ids = ["@cf/openai/gpt-oss-120b", `@cf/emulated/${word}`, `@cf/emulated/${word} [ends 2030-02-01 00:00:00]`, `bytedance/${word}`];
  const routes = { "textA-1": ids.map((model) => ({ provider: "cloudflare", model })) };
  const all = await new Objects(toEnv({ ...vars, ROUTES: routes })).listRoutes();
  expect(ids.map((id) => all.find(({ model }) => model === id))).toEqual([
    { provider: "cloudflare", model: ids[0], gone: false },
    { provider: "cloudflare", model: ids[1], gone: true },
    { provider: "cloudflare", model: ids[2], gone: false, retires: "2030-02-01" },
    // Whether the list has other makers' models is not documented.
    { provider: "cloudflare", model: ids[3], gone: false },
  ]);
  expect((await asked(word)).map((one) => [one.prompt, one.body])).toEqual([
    [word, door],
    [`${word} [ends 2030-02-01 00:00:00]`, door],
  ]);
});

test("the lists are read once a day, and again after an hour if that fails", async () => {
  let calls = 0;
  const route = { provider: "openai", model: "a", gone: true };
  const objects = { listRoutes: () => (calls++ === 1 ? Promise.reject(new Error("gone")) : Promise.resolve([route])) };
  const read = (at: number) => readListed(env, objects, at);
  const now = Date.now();
  expect([await read(now), await read(now + dayMs - 1), calls]).toEqual([[route], [route], 1]);
  await expect(read(now + dayMs)).rejects.toThrow("gone");
  expect([await read(now + dayMs + 1), calls]).toEqual([[route], 2]);
  expect([await read(now + dayMs + 3_600_000), calls]).toEqual([[route], 3]);
});

test("an end is announced 30, 7 and 1 days before, for half a day each", () => {
  const end = Date.parse("2030-01-31T00:00:00Z");
  const route = { provider: "openai", model: "gpt", gone: false, retires: "2030-01-31" };
  const hours = (before: number) => retirementCauses([route], end - before * 3_600_000).route_retiring;
  for (const days of [30, 7, 1]) {
    expect(hours(days * 24 + 1)).toEqual([]);
    expect(hours(days * 24)).toEqual(["openai gpt 2030-01-31"]);
    expect(hours(days * 24 - 11)).toEqual(["openai gpt 2030-01-31"]);
    expect(hours(days * 24 - 12)).toEqual([]);
  }
  expect(hours(0)).toEqual([]);
});

test("a model that is gone is reported until its route is passed over", () => {
  const route = { provider: "openai", model: "gpt", gone: true, retires: "2030-01-31" };
  const gone = (day: string) => retirementCauses([route], Date.parse(day)).model_gone;
  expect([gone("2030-01-30T23:59:59Z"), gone("2030-01-31T00:00:00Z")]).toEqual([["openai gpt"], []]);
});

const chat = async (routes: object[]) => {
  const { key } = await newAccount();
  const prompt = unique();
  const body = { model: "textA-1", messages: [{ role: "user", content: prompt }] };
  const vars = { ROUTES: { "textA-1": routes } };
  return {
    vars,
    key,
    answer: await call("/v1/chat/completions", { key, body, vars }),
    models: (await asked(prompt)).map((one) => one.body),
  };
};

test("a route is passed over from its last day on", async () => {
  const { answer, models } = await chat([openai("gpt-5.4-mini", dayAfter(0)), openai("gpt-5.5", dayAfter(2)), openai("gpt-4.1")]);
  expect(answer.status).toBe(200);
  expect(models).toEqual([expect.objectContaining({ model: "gpt-5.5" })]);
  expect(answer.headers.get("sunset")).toBeNull();
});

test("only a model that no route is left behind has an end, in its entry and in the answers about it", async () => {
  const [first, last] = [dayAfter(3), dayAfter(9)];
  const { answer, vars, key } = await chat([openai("gpt-5.5", first), openai("gpt-4.1", last)]);
  const sunset = new Date(`${last}T00:00:00Z`).toUTCString();
  expect([answer.status, answer.headers.get("sunset")]).toEqual([200, sunset]);
  const entry = await call("/v1/models/textA-1", { key, vars });
  expect(entry.headers.get("sunset")).toBe(sunset);
  expect(entry.body.deprecated_at).toBe(Date.parse(`${last}T00:00:00Z`) / 1000);
  const other = await call("/v1/models/textA-1-mini", { key, vars });
  expect([other.headers.get("sunset"), other.body.deprecated_at]).toEqual([null, undefined]);
  const refused = await call("/v1/chat/completions", { key, vars, body: { model: "textA-1", messages: [], temperature: 9 } });
  expect([refused.status, refused.headers.get("sunset")]).toEqual([400, null]);
  vi.setSystemTime(Date.parse(`${last}T00:00:00Z`));
  expect((await call("/v1/models/textA-1", { key, vars })).status).toBe(404);
});

test("a submission's answer has the header too, and a dry run's", async () => {
  const { key } = await newAccount();
  const vars = { ROUTES: { "imgB-4o-image": [openai("gpt-image-2", dayAfter(5))] } };
  const body = { model: "imgB-4o-image", prompt: unique() };
  for (const query of ["", "?dry_run=true"]) {
    const answer = await call(`/v1/images/generations${query}`, { key, body, vars });
    expect([answer.status, answer.headers.get("sunset")]).toEqual([200, new Date(`${dayAfter(5)}T00:00:00Z`).toUTCString()]);
  }
});

test.each(["2027-1-4", "2027-02-30", "soon", 20270114])("`retires` must be a day: %s", async (retires) => {
  const put = (last: unknown) => {
    const routes = [{ provider: "fal", model: "fal-ai/bytedance/seedream/v4.5", retires: last }];
    return asAdmin("/models/imgA-4?dry_run=true", { method: "PUT", body: { routes } });
  };
  expect((await put("2027-01-14")).body.model.routes[0]).toMatchObject({ retires: "2027-01-14" });
  const refused = await put(retires);
  expect(refused.status).toBe(400);
  expect(refused.body.error.details.map(({ param }: { param: string }) => param)).toEqual(["routes[0].retires"]);
});
