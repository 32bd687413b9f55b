/** The console's log of requests: filters, search, pages, and that an account sees only its own requests. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { writeEntries } from "../../src/db/grants.ts";
import { writeRequests } from "../../src/db/request-pages.ts";
import { Browser, person, words } from "./support.ts";

const page = "/console/logs";

const rows = (text: string) => [...text.matchAll(/id="row-([\w-]+)"/g)].map(([, id = ""]) => id);

test("requests are listed with status, key and id, found by filters, and belong to their account", async () => {
  const [mine, other] = [await person(), await person()];
  expect(await mine.browser.read(page)).toContain("No requests yet");
  const now = Date.now();
  const request = (name: string, status: number, more: object = {}) => ({
    account: mine.id,
    at: now - 1000 * name.charCodeAt(0),
    request: `request-${name}`,
    path: "POST /v1/images/generations",
    status,
    outcome: status < 400 ? "ok" : "insufficient_quota",
    ms: 1234,
    key: mine.keyId,
    ...more,
  });
  await writeRequests(env.DB, [
    request("c", 200, { key: "key_gone", path: "GET /v1/tasks/task_1" }),
    request("b", 402, { model: "imgA-4" }),
    request("a", 503),
  ]);
  const all = await mine.browser.read(page);
  expect(rows(all)).toEqual(["request-a", "request-b", "request-c"]);
  for (const shown of ["402", "insufficient_quota", "imgA-4", "A &lt;program&gt;", "Deleted key", "1.23 s", "/v1/tasks/task_1"])
    expect(all).toContain(shown);
  const found = async (query: string) => rows(await mine.browser.read(`${page}?${query}`));
  expect(await found("result=refused")).toEqual(["request-b"]);
  expect(await found("result=failed")).toEqual(["request-a"]);
  expect(await found("result=succeeded")).toEqual(["request-c"]);
  expect(await found(`key=${mine.keyId}`)).toEqual(["request-a", "request-b"]);
  expect(await found("text=request-c")).toEqual(["request-c"]);
  const none = await mine.browser.read(`${page}?text=${encodeURIComponent('"><script>')}&result=failed`);
  expect(none).toContain("No such requests");
  expect(none).not.toContain('"><script>');
  expect(rows(await other.browser.read(page))).toEqual([]);
  expect((await new Browser().ask(page)).headers.get("location")).toBe("/console/sign-in?to=%2Fconsole%2Flogs");
});

test("older requests are on further pages; the newest refresh themselves on request", async () => {
  const { browser, id } = await person();
  const now = Date.now();
  const entry = (at: number) => ({
    account: id,
    at: now - 1000 * at,
    request: `r${at}`,
    path: "GET /v1/balance",
    status: 200,
    outcome: "ok",
    ms: 2,
  });
  await writeRequests(
    env.DB,
    Array.from({ length: 120 }, (_, at) => entry(119 - at)),
  );
  const seen: (string | undefined)[] = [];
  let path: string | undefined = page;
  while (path) {
    const text = await browser.read(path);
    seen.push(...rows(text));
    path = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(seen).toEqual(Array.from({ length: 120 }, (_, at) => `r${at}`));
  expect(await browser.read(page)).not.toContain("hx-trigger");
  expect(await browser.read(`${page}?live=on`)).toContain('hx-trigger="every 5s"');
});

test("the bars, counts and filters of the address: path, model, key, error, result and time", async () => {
  const { browser, id, keyId } = await person();
  const now = Date.now();
  const entry = (name: string, minutes: number, more: object = {}) => ({
    account: id,
    at: now - 60_000 * minutes,
    request: `asked-${name}`,
    path: "POST /v1/images/generations",
    status: 200,
    outcome: "ok",
    ms: 12,
    key: keyId,
    model: "imgA-4",
    ...more,
  });
  const task = (at: number) => `task_${String(at).repeat(24)}`;
  const asked = [
    entry("old", 30 * 60),
    entry("poll-a", 300, { path: `GET /v1/tasks/${task(1)}`, model: undefined, task: task(1) }),
    entry("poll-b", 299, { path: `GET /v1/tasks/${task(2)}`, model: undefined, task: task(2) }),
    entry("poor", 40, { status: 402, outcome: "insufficient_quota", model: "vidA-2" }),
    entry("busy", 20, { status: 503, outcome: "unavailable", key: "key_gone" }),
    entry("made", 10, { task: task(3) }),
    entry("lost", 9, { task: task(4) }),
  ];
  // A batch has the requests of seconds.
  for (const one of asked) await writeRequests(env.DB, [one]);
  await writeEntries(
    env.DB,
    id,
    0,
    [3, 4].map((at) => ({
      taskId: task(at),
      keyId,
      kind: "image",
      model: "imgA-4",
      held: 30_000,
      charged: at === 3 ? 30_000 : 0,
      outcome: at === 3 ? "completed" : "provider_error",
      at: now - 600_000,
      closedAt: now - 590_000,
      attempts: [{ route: "0 secretprovider itsmodel", cost: 20_000 }],
    })),
    { isGranted: false },
  );
  const all = await browser.read(page);
  expect(words(all)).toContain("5 succeeded 1 refused 1 failed");
  expect(words(all)).toContain("All 7 Succeeded 5 Refused (4xx) 1 Failed (5xx) 1 Rescued 0");
  for (const shown of ["GET /v1/tasks/{id} · 2", "POST /v1/images/generations · 5", "imgA-4 · 4", "vidA-2 · 1", "Deleted key · 1"])
    expect(all).toContain(shown);
  // The cost and the end of what a request made, without who made it.
  const row = (name: string) => words(`<main${new RegExp(`<tr id="row-asked-${name}">.*?</tr>`).exec(all)?.[0] ?? ""}`);
  expect(row("made")).toMatch(/200 imgA-4 A &lt;program&gt; 12 ms \$0\.03/);
  expect(row("lost")).toMatch(/provider_error: The generation failed\. Nothing was charged\. Failed .*\$0\.00/);
  expect(row("poor")).toContain("insufficient_quota: The balance is insufficient.");
  // A reason is never cut.
  expect(all).toContain('<span class="meta path">insufficient_quota: ');
  expect(all).toContain(`<a class="plain path clip" href="/console/tasks/${task(3)}"`);
  expect(all).toContain('<a class="plain path clip" href="/console/logs/asked-poor"');
  expect(all).not.toMatch(/secretprovider|itsmodel/);
  const found = async (query: string) => rows(await browser.read(`${page}?${query}`)).map((name) => name.slice(6));
  expect(await found(`path=${encodeURIComponent("GET /v1/tasks/{id}")}`)).toEqual(["poll-b", "poll-a"]);
  expect(await found("model=vidA-2")).toEqual(["poor"]);
  expect(await found("error=unavailable")).toEqual(["busy"]);
  expect(await found("key=key_gone")).toEqual(["busy"]);
  expect(await found("range=1h")).toEqual(["lost", "made", "busy", "poor"]);
  expect(await found("range=24h&result=succeeded")).toEqual(["lost", "made", "poll-b", "poll-a"]);
  expect(await found(`from=${now - 25 * 60_000}&to=${now - 15 * 60_000}`)).toEqual(["busy"]);
  expect(await found("from=1&to=2")).toHaveLength(7);
  expect(await found(`from=${now}&to=${now - 1}`)).toHaveLength(7);
  // Each bar leads to its time, with the other filters as they are.
  const part = /href="([^"]+)"[^>]*tabindex="-1"/.exec(await browser.read(`${page}?range=1h&model=vidA-2`))?.[1]?.replaceAll("&amp;", "&");
  expect(rows(await browser.read(part!))).toEqual(["asked-poor"]);
  // A count is that of the filter if it were chosen, with the others as they are.
  expect(words(await browser.read(`${page}?model=vidA-2`))).toContain("All 1 Succeeded 0 Refused (4xx) 1 Failed (5xx) 0");
});

test("a request whose task a later route completed is marked as rescued, and found by that; only admins read by whom", async () => {
  const { browser, id, keyId } = await person();
  const now = Date.now();
  const taskOf = (name: string) => `task_${name.padEnd(24, "0")}`;
  const tasks = ["plain", "saved", "lost"].map((name) => ({ name, taskId: taskOf(name) }));
  const entry = { account: id, path: "POST /v1/images/generations", status: 200, outcome: "ok", ms: 12, key: keyId, model: "imgA-4" };
  await writeRequests(env.DB, [
    ...tasks.map(({ name, taskId }, at) => ({ ...entry, at: now - 1000 * (at + 2), request: `req-${name}`, task: taskId })),
    { ...entry, at: now - 1000, request: "req-poll", path: `GET /v1/tasks/${taskOf("saved")}`, task: taskOf("saved") },
  ]);
  const settled = { keyId, kind: "image", model: "imgA-4", held: 30_000, charged: 0, at: now - 9000, closedAt: now - 2000 };
  const attempts = [
    { route: "0 firstmaker one", cost: 0 },
    { route: "1 secondmaker two", cost: 20_000 },
  ];
  await writeEntries(
    env.DB,
    id,
    0,
    tasks.map(({ name, taskId }) => ({
      ...settled,
      taskId,
      outcome: name === "lost" ? "provider_error" : "completed",
      attempts: name === "plain" ? attempts.slice(1) : attempts,
    })),
  );
  const all = await browser.read(page);
  expect(words(all)).toContain("All 4 Succeeded 4 Refused (4xx) 0 Failed (5xx) 0 Rescued 1");
  expect(rows(await browser.read(`${page}?result=rescued`))).toEqual(["req-saved"]);
  expect(words(await browser.read(`${page}?result=rescued&model=vidA-2`))).toContain(
    "All 0 Succeeded 0 Refused (4xx) 0 Failed (5xx) 0 Rescued 0",
  );
  expect(all.match(/Rescued: made at attempt 2/g)).toHaveLength(1);
  expect(all).not.toContain("firstmaker");
  await env.DB.prepare("UPDATE account SET admin = 1 WHERE id = ?1").bind(id).run();
  expect(words(await browser.read(`${page}?result=rescued`))).toContain("Rescued: firstmaker failed, secondmaker made it");
});

test("a chat has its cost and no page of a task; a line says what the answer said", async () => {
  const { browser, id, keyId } = await person();
  const at = Date.now() - 1000;
  const chat = `chatcmpl-${crypto.randomUUID()}`;
  const entry = { account: id, at, path: "POST /v1/chat/completions", status: 200, outcome: "ok", ms: 900, key: keyId, model: "textA-1" };
  const message = "messages: must not be empty";
  await writeRequests(env.DB, [
    { ...entry, request: "said", task: chat },
    { ...entry, request: "wrong", status: 400, outcome: "invalid_request", message },
  ]);
  const end = { held: 40_000, charged: 20_000, outcome: "completed", at, closedAt: at + 900, attempts: [] };
  await writeEntries(env.DB, id, 0, [{ taskId: chat, keyId, kind: "chat", model: "textA-1", ...end }], { isGranted: false });
  const all = await browser.read(page);
  expect(words(all)).toContain(`POST /v1/chat/completions invalid_request: ${message} 400`);
  expect(words(all)).toMatch(/900 ms \$0\.02/);
  expect(all).toContain('href="/console/logs/said"');
  expect(words(await browser.read(`${page}/wrong`))).toContain(message);
  const shown = await browser.read(`${page}/said`);
  expect(words(shown)).toMatch(/Charged \$0\.02/);
  expect(shown).not.toContain(`/console/tasks/${chat}`);
});

test("a refused request has a page with what to do; one that made a task leads to it; another account's is not there", async () => {
  const [mine, other] = [await person(), await person()];
  const entry = {
    account: mine.id,
    at: Date.now() - 1000,
    path: "POST /v1/videos/generations",
    status: 402,
    outcome: "insufficient_quota",
    ms: 4,
    key: mine.keyId,
  };
  await writeRequests(env.DB, [
    { ...entry, request: "req-refused" },
    { ...entry, request: "req-made", status: 200, outcome: "ok", task: "task_made" },
  ]);
  const shown = await mine.browser.read(`${page}/req-refused`);
  expect(words(shown)).toContain("The balance is insufficient. Add to the balance, or choose a cheaper model. Read about this error");
  expect(shown).toContain('href="/docs/errors#every-code"');
  expect(shown).toContain("402 insufficient_quota: The balance is insufficient. (req-refused)");
  expect((await mine.browser.ask(`${page}/req-made`)).headers.get("location")).toBe("/console/tasks/task_made");
  expect((await mine.browser.ask(`${page}/req-unknown`)).status).toBe(404);
  expect((await other.browser.ask(`${page}/req-refused`)).status).toBe(404);
  for (const language of ["zh", "ko", "ja"]) {
    await mine.browser.ask(`/console/language?to=${language}`);
    for (const path of [page, `${page}/req-refused`])
      expect(await mine.browser.read(path)).not.toMatch(/logs_\w+<|fix_\w+|\{\w+\}|NaN|undefined/);
  }
});

test("a request stands beside the list, with its neighbours; slow ones are filtered, and all are a CSV file", async () => {
  const { browser, id, keyId } = await person();
  const now = Date.now();
  const request = (name: string, ms: number, more: object = {}) => ({
    account: id,
    at: now - 1000 * name.charCodeAt(0),
    request: `req_${name}`,
    path: "POST /v1/images/generations",
    status: 402,
    outcome: "insufficient_quota",
    message: '=1+"2"',
    ms,
    key: keyId,
    ...more,
  });
  await writeRequests(env.DB, [request("c", 900), request("b", 1000), request("a", 31_000)]);
  expect(rows(await browser.read(`${page}?slow=1`))).toEqual(["req_a", "req_b"]);
  expect(rows(await browser.read(`${page}?slow=30`))).toEqual(["req_a"]);
  expect(rows(await browser.read(`${page}?slow=2`)).length).toBe(3);

  // Without script a row leads to its page; with it the same list comes with the request beside it.
  const list = await browser.read(page);
  expect(list).toContain('href="/console/logs/req_b" hx-get="/console/logs?open=req_b"');
  expect(list).not.toContain('class="drawer"');
  const open = await browser.read(`${page}?open=req_b`);
  const beside = /<aside class="drawer".*<\/aside>/s.exec(open)?.[0] ?? "";
  expect(open).toContain('<tr id="row-req_b" aria-current="true">');
  expect(beside).toContain("Add to the balance, or choose a cheaper model.");
  for (const [key, to] of [
    ["ArrowLeft", "?open=req_a"],
    ["ArrowRight", "?open=req_c"],
    ["Escape", ""],
  ] as const)
    expect(beside).toMatch(new RegExp(`href="/console/logs${to.replace("?", "\\?")}"[^>]*data-key="${key}"`));
  expect(await browser.read(`${page}?open=req_gone`)).not.toContain('class="drawer"');
  expect(await (await person()).browser.read(`${page}?open=req_b`)).not.toContain('class="drawer"');

  const file = await browser.ask(`${page}/requests.csv?slow=30`);
  expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename="requests-\d{4}-\d\d-\d\d\.csv"$/);
  const lines = (await file.text()).trim().split("\r\n");
  expect(lines.length).toBe(2);
  expect(lines[1]).toContain(',req_a,POST,/v1/images/generations,402,insufficient_quota,"\'=1+""2""",31000,');
});
