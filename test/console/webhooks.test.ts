/** The console's webhooks page: the endpoint, its secret, a test event, the deliveries; and the callback on a task's page. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { readWebhook } from "../../src/db/webhooks.ts";
import { type Account, asAdmin, complete, holdTime, unique } from "../support/gateway.ts";
import { callBack, ok, receivers, setEndpoint } from "../support/receiver.ts";
import { person } from "./support.ts";

holdTime();

const page = "/console/webhooks";
const hook = "https://hooks.example.com/done";

const image = (account: Account) => complete(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
const toEndpoint = async ({ id }: Account) => (await readWebhook(env, id)).url;

test("an endpoint is added, changed and removed; a refused one is shown beside the field, with the typed value", async () => {
  const { browser, account } = await person();
  expect(await browser.read(page)).toContain("Add endpoint");
  const refused = await browser.ask(page, { url: "http://hooks.example.com/" });
  expect(refused.status).toBe(400);
  const text = await refused.text();
  expect(text).toMatch(/value="http:\/\/hooks\.example\.com\/"[^>]*aria-invalid|aria-invalid[^>]*value="http:\/\/hooks\.example\.com\/"/);
  expect(text).toContain("Endpoint must be a public https URL: a host on the internet, the default port, no user name.");
  expect(await toEndpoint(account)).toBeNull();
  const saved = await browser.ask(page, { url: ` ${hook} ` });
  expect(saved.headers.get("location")).toBe(`${page}?done=saved`);
  expect(await toEndpoint(account)).toBe(hook);
  expect(await browser.read(`${page}?done=saved`)).toContain("The endpoint was saved.");
  expect(await browser.read(`${page}?change=yes`)).toContain(`value="${hook}"`);
  expect(await browser.read(`${page}/remove`)).toContain("Remove the endpoint?");
  expect(await toEndpoint(account)).toBe(hook);
  expect((await browser.ask(`${page}/remove`, {})).status).toBe(303);
  expect(await toEndpoint(account)).toBeNull();
});

test("the page contains the secret only on request, and rotates it after a confirmation", async () => {
  const { browser, account } = await person();
  const { secret } = await readWebhook(env, account.id);
  const hidden = await browser.read(page);
  expect(hidden).not.toContain(secret);
  expect(hidden).toContain(`•${secret.slice(-4)}`);
  expect(await browser.read(`${page}?secret=shown`)).toContain(secret);
  expect(await browser.read(`${page}/rotate`)).toContain("Rotate the signing secret?");
  expect((await readWebhook(env, account.id)).secret).toBe(secret);
  expect((await browser.ask(`${page}/rotate`, {})).headers.get("location")).toBe(`${page}?done=rotated`);
  const after = await readWebhook(env, account.id);
  expect([after.secret === secret, after.oldSecret]).toEqual([false, secret]);
});

test("a form to rotate the secret that is sent twice rotates once, and the page opened again rotates again", async () => {
  const { browser, account } = await person();
  const { secret } = await readWebhook(env, account.id);
  const key = /name="key" value="([^"]+)"/.exec(await browser.read(`${page}/rotate`))![1] ?? "";
  const twice = await Promise.all([1, 2].map(() => browser.ask(`${page}/rotate`, { key })));
  expect([...twice, await browser.ask(`${page}/rotate`, { key })].map(({ status }) => status)).toEqual([303, 303, 303]);
  const once = await readWebhook(env, account.id);
  expect([once.secret === secret, once.oldSecret]).toEqual([false, secret]);
  expect(await browser.read(`${page}/rotate`)).not.toContain(key);
  await browser.ask(`${page}/rotate`, { key: "another" });
  expect((await readWebhook(env, account.id)).oldSecret).toBe(once.secret);
});

test("a test event is sent to the endpoint, and the page shows its outcome", async () => {
  const { browser, account } = await person();
  const received = receivers({ [hook]: ok });
  const none = await browser.ask(`${page}/test`, {});
  expect(none.status).toBe(404);
  await setEndpoint(account, hook);
  expect(await (await browser.ask(`${page}/test`, {})).text()).toContain("The test event was delivered: HTTP 204");
  expect(received.map(({ url, body }) => [url, JSON.parse(body).type])).toEqual([[hook, "test"]]);
  await setEndpoint(account, "https://nowhere.example.com/");
  expect(await (await browser.ask(`${page}/test`, {})).text()).toContain("The test event was not delivered: No connection");
});

test("deliveries are listed with their outcome, and sent again from the list and from the task's page", async () => {
  const { browser, account } = await person();
  let status = 503;
  const received = receivers({ [hook]: () => new Response(null, { status }) });
  await setEndpoint(account, hook);
  const id = await image(account);
  await callBack(id);
  const { browser: stranger } = await person();
  expect(await stranger.read(page)).toContain("No webhook was sent lately.");
  for (const path of [page, `${page}?result=failed`]) {
    const text = await browser.read(path);
    expect(text).toContain(`href="/console/tasks/${id}#callback"`);
    for (const words of ["Again in 1 min", "503 · 0 ms"]) expect(text).toContain(words);
  }
  expect(await browser.read(`/console/tasks/${id}`)).toMatch(/id="callback".*Again in 1 min.*503/s);
  expect((await stranger.ask(`${page}/resend/${id}`, {})).status).toBe(404);
  status = 204;
  expect((await browser.ask(`${page}/resend/${id}`, {})).headers.get("location")).toBe(page);
  await callBack(id);
  expect(await browser.read(page)).toMatch(/data-s="good"[^>]*>.*204/s);
  expect(await browser.read(`${page}?result=failed`)).toContain("No webhook was sent lately.");
  expect((await browser.ask(`/console/tasks/${id}/callback`, {})).headers.get("location")).toBe(`/console/tasks/${id}#callback`);
  await callBack(id);
  expect(received).toHaveLength(3);
  expect(await browser.read(`/console/tasks/${id}`)).toContain("Send again");
});

test("attempts and providers are on a task's page for admins only", async () => {
  const { browser, account } = await person();
  const id = await image(account);
  const attempts = async () => /<h2>Attempts<\/h2>/.test(await browser.read(`/console/tasks/${id}`));
  expect(await attempts()).toBe(false);
  expect(await browser.read(`/console/tasks/${id}`)).not.toContain("sandbox");
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { admin: true } });
  expect(await attempts()).toBe(true);
});
