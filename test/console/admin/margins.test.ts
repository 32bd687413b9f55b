/** The admin's page of margins, and the health of routes over the whole deployment. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { readCatalog } from "../../../src/current-catalog.ts";
import { asAdmin, complete, holdTime, newAccount, readBalance, unique } from "../../support/gateway.ts";
import { operator, person } from "../support.ts";

holdTime();

test("revenue, cost and margin are shown by model, route, account and day; a loss is marked, other users get 404", async () => {
  const { browser } = await operator();
  const { browser: other } = await person();
  const path = "/console/admin/margins";
  expect(await browser.read(path)).toContain("Nothing was settled in this time");
  expect(await browser.read("/console/admin/providers")).toContain("No attempt has ended in the last 24 hours");
  await asAdmin("/models/imgA-4", {
    method: "PUT",
    body: { routes: [{ provider: "sandbox", model: "imgA-4", cost: { image: 0.04 } }] },
  });
  await readCatalog(env.DB);
  const account = await newAccount();
  await complete(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  await readBalance(account);
  const words = (html: string) => (html.split("<main")[1] ?? "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  const byModel = await browser.read(path);
  expect(words(byModel)).toContain("Revenue $0.03 Cost $0.04 Margin -33.3 % -$0.01 Tasks and chats 1 100 % completed");
  expect(byModel).toMatch(/href="\/console\/admin\/models\/imgA-4"/);
  expect(byModel).toContain('<span class="loses">-33.3');
  expect(words(await browser.read(`${path}?by=route&days=7`))).toContain("sandbox imgA-4 1 $0.03 $0.04");
  expect(await browser.read(`${path}?by=account&days=1`)).toContain(`href="/console/admin/accounts/${account.id}"`);
  expect(words(await browser.read(`${path}?by=day&days=90`))).toMatch(/\d+ \w+ 1 \$0\.03 \$0\.04/);
  expect((await browser.ask(`${path}?by=nothing&days=0`)).status).toBe(200);
  expect(words(await browser.read("/console/admin/providers"))).toMatch(/sandbox imgA-4 Healthy 1 0\s% [\d.]+ s [\d.]+ s \$0\.04/);
  const month = await browser.read(`${path}?by=model&days=30`);
  expect(month).toMatch(/<svg[^>]*aria-label="Revenue and cost by day"/);
  // Revenue and cost have the colours that they have on the operator's first page.
  const colours = (text: string) =>
    [...text.matchAll(/<rect class="(\w+)"[^>]*><\/rect><\/svg>(Revenue|Cost)/g)].map(([, colour, word]) => [word, colour]);
  expect(colours(month)).toHaveLength(2);
  expect(colours(await browser.read("/console/admin"))).toEqual(colours(month));
  expect(await browser.read(`${path}?by=model&days=1`)).not.toContain("Revenue and cost by day");
  const csv = await browser.ask(`${path}/margins.csv?by=model&days=30`);
  expect(csv.headers.get("content-type")).toContain("text/csv");
  expect(await csv.text()).toBe('model,revenue,cost,margin,completed,failed,uncosted\r\n"imgA-4",0.03,0.04,-0.01,1,0,0\r\n');
  const list = words(await browser.read("/console/admin/models?show=loses"));
  expect(list).toMatch(/Loses money 1 .*imgA-4 built in, changed .*Loses money .*\$0\.04 -33\.3\s% 1 /);
  expect(list).not.toContain("imgB-4o-image");
  const tab = words(await browser.read("/console/admin/models/imgA-4/margin"));
  expect(tab).toMatch(/Revenue \$0\.03 Cost \$0\.04 Margin -33\.3\s%.* sandbox imgA-4 1 \$0\.03 \$0\.04/);
  expect(await browser.read("/console/admin/models/imgB-4o-image/margin")).toContain("Nothing was settled in this time");
  for (const none of ["/console/admin/models/nothing/margin", "/console/admin/models/_new/margin"])
    expect((await browser.ask(none)).status).toBe(404);
  for (const hidden of [path, `${path}/margins.csv`, "/console/admin/models/imgA-4/margin"])
    expect((await other.ask(hidden)).status).toBe(404);
  for (const language of ["zh", "ko", "ja"]) {
    await browser.ask(`/console/language?to=${language}`);
    expect(await browser.read(path)).not.toMatch(/admin_margin|Revenue/);
  }
});
