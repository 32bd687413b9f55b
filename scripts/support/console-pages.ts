/** The public pages and the console's, how a browser opens each of them, and the combinations of size, theme and language in which each is checked. Add a line for a new page. */

import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { languages } from "../../src/messages/language.ts";

/** A page of the console. */
export interface ConsolePage {
  name: string;
  /** The signed-in user: none, the demo account with the sample tasks, or a user who has just signed up. */
  as: "visitor" | "demo" | "new";
  /** Its status, if it is not 200; or that of an answer to its script. */
  status?: number;
  /** Opens the page in a browser; with the path, if that is all. */
  reach: ((page: Page) => Promise<unknown>) & { path?: string };
}

const at = (path: string) => Object.assign((page: Page) => page.goto(path), { path });

export const consolePages: ConsolePage[] = [
  { name: "sign-in", as: "visitor", reach: at("/console/sign-in") },
  {
    name: "sign-in-refused",
    as: "visitor",
    status: 401,
    reach: (page) => signIn(page, { email: "unknown@example.com", password: "wrong" }),
  },
  { name: "sign-up", as: "visitor", reach: at("/console/sign-up") },
  { name: "forgot", as: "visitor", reach: at("/console/forgot") },
  { name: "reset", as: "visitor", reach: at("/console/reset?token=unknown") },
  { name: "landing", as: "visitor", reach: at("/") },
  { name: "docs", as: "visitor", reach: at("/docs") },
  { name: "docs-tasks", as: "visitor", reach: at("/docs/tasks") },
  { name: "docs-images", as: "visitor", reach: at("/docs/images") },
  { name: "docs-models", as: "visitor", reach: at("/docs/models") },
  { name: "docs-model-image", as: "visitor", reach: at("/docs/models/imgC-3-pro-image-preview") },
  { name: "docs-model-video", as: "visitor", reach: at("/docs/models/vidA-2") },
  { name: "docs-reference", as: "visitor", reach: at("/docs/reference") },
  { name: "docs-reference-generations", as: "visitor", reach: at("/docs/reference/generations") },
  { name: "docs-reference-operation", as: "visitor", reach: at("/docs/reference/generations/createImage") },
  { name: "docs-search", as: "visitor", reach: at("/docs/search?q=retry") },
  { name: "search", as: "demo", reach: at("/console/search?q=lighthouse") },
  { name: "status", as: "visitor", reach: at("/status") },
  { name: "verify", as: "visitor", reach: at("/verify") },
  { name: "verify-unknown", as: "visitor", status: 404, reach: verifyStranger },
  { name: "docs-unknown", as: "visitor", status: 404, reach: at("/docs/unknown") },
  { name: "overview", as: "demo", reach: at("/console") },
  { name: "usage", as: "demo", reach: at("/console/usage") },
  { name: "billing", as: "demo", reach: at("/console/billing") },
  { name: "billing-code-refused", as: "demo", status: 400, reach: refuseCode },
  { name: "credit", as: "demo", reach: at("/console/credit") },
  { name: "models", as: "demo", reach: at("/console/models") },
  { name: "model-video", as: "demo", reach: at("/console/models/vidA-2") },
  { name: "model-chat", as: "demo", reach: at("/console/models/textA-1") },
  { name: "playground", as: "demo", reach: at("/console/playground?model=vidC-1-0-pro-fast&prompt=A+lighthouse+at+dawn") },
  { name: "playground-chat", as: "demo", reach: at("/console/playground?model=textA-1") },
  { name: "playground-remix", as: "demo", reach: at("/console/playground?model=vidA-2:remix") },
  { name: "playground-result", as: "demo", reach: (page) => showRun(page, "completed") },
  { name: "playground-failed", as: "demo", reach: (page) => showRun(page, "failed") },
  { name: "playground-refused", as: "demo", reach: refuseRun },
  { name: "playground-answered", as: "demo", reach: askOnce },
  { name: "chat-none", as: "new", reach: at("/console/chat") },
  { name: "chat", as: "demo", reach: (page) => converse(page, ["textA-1"]) },
  { name: "chat-compare", as: "demo", reach: (page) => converse(page, ["textA-1", "textA-1-mini"]) },
  {
    name: "chat-delete",
    as: "demo",
    reach: (page) => follow(page, "/console/chat", "#rooms-list li a").then(() => page.goto(`${page.url()}/delete`)),
  },
  { name: "key-created", as: "demo", reach: (page) => createKey(page, "A server in the cellar") },
  { name: "keys", as: "demo", reach: at("/console/keys") },
  { name: "members", as: "demo", reach: at("/console/members") },
  { name: "member", as: "demo", reach: (page) => follow(page, "/console/members", 'a[href^="/console/members/mem_"]') },
  { name: "members-invitations", as: "demo", reach: at("/console/members/invitations") },
  { name: "members-sign-in", as: "demo", reach: at("/console/members/sign-in") },
  { name: "members-leave", as: "demo", reach: at("/console/members/leave") },
  { name: "audit-log", as: "demo", reach: at("/console/audit-log") },
  { name: "key-change", as: "demo", reach: (page) => follow(page, "/console/keys", 'a[href$="/change"]') },
  {
    name: "key-rotate",
    as: "demo",
    reach: (page) => createKey(page, "A key to rotate").then(() => follow(page, "/console/keys", 'tr:last-child a[href$="/rotate"]')),
  },
  {
    name: "key-delete",
    as: "demo",
    reach: (page) => createKey(page, "An old key").then(() => follow(page, "/console/keys", 'a[href$="/delete"]')),
  },
  { name: "tasks", as: "demo", reach: at("/console/tasks") },
  { name: "tasks-lightbox", as: "demo", reach: openLightbox },
  { name: "tasks-chosen", as: "demo", reach: (page) => page.goto("/console/tasks?choose=all") },
  { name: "tasks-none", as: "demo", reach: at("/console/tasks?q=nothing+like+this") },
  { name: "task-images", as: "demo", reach: (page) => openTask(page, "kind=image&status=completed") },
  {
    name: "task-credential",
    as: "demo",
    reach: async (page) => {
      await openTask(page, "kind=image&status=completed");
      await page.locator("button.cred").first().click();
      await page.locator(".popcard:popover-open [data-if=signer]:not([hidden])").first().waitFor();
    },
  },
  { name: "task-video", as: "demo", reach: (page) => openTask(page, "kind=video") },
  { name: "task-character", as: "demo", reach: (page) => openTask(page, "kind=character") },
  { name: "task-failed", as: "demo", reach: (page) => openTask(page, "status=failed") },
  { name: "characters", as: "demo", reach: at("/console/characters") },
  { name: "character-delete", as: "demo", reach: (page) => follow(page, "/console/characters", 'a[href$="/delete"]') },
  { name: "batches-none", as: "new", reach: at("/console/batches") },
  { name: "batch-new", as: "demo", reach: at("/console/batches/new") },
  { name: "batch-new-text", as: "demo", reach: at("/console/batches/new?from=text") },
  { name: "batch-new-refused", as: "demo", status: 400, reach: (page) => pasteLines(page, "prompt\nA dune\n") },
  { name: "batch-review", as: "demo", reach: (page) => pasteLines(page, mixedTable) },
  { name: "batch-running", as: "demo", reach: startSlowBatch },
  { name: "batch-cancel", as: "demo", reach: (page) => startSlowBatch(page).then(() => press(page, 'main a[href$="/cancel"]')) },
  { name: "batch-ended", as: "demo", reach: endBatch },
  { name: "batch-delivery", as: "demo", reach: deliverBatch },
  { name: "batch-lines", as: "demo", reach: (page) => endBatch(page).then(() => page.goto(`${page.url()}/lines`)) },
  { name: "batches", as: "demo", reach: (page) => endBatch(page).then(() => page.goto("/console/batches")) },
  { name: "files", as: "demo", reach: at("/console/files") },
  { name: "file-delete", as: "demo", reach: (page) => follow(page, "/console/files", 'a[href$="/delete"]') },
  { name: "files-none", as: "new", reach: at("/console/files") },
  { name: "destinations-none", as: "new", reach: at("/console/destinations") },
  { name: "destinations", as: "demo", reach: addDestination },
  {
    name: "destination-refused",
    as: "demo",
    status: 400,
    reach: async (page) => {
      await fillDestination(page, { endpoint: "https://s3.example.com/path" });
      await submit(page);
    },
  },
  { name: "logs", as: "demo", reach: at("/console/logs") },
  {
    name: "logs-drawer",
    as: "demo",
    reach: async (page) => {
      await page.goto("/console/logs");
      await page.locator("tbody a.path").first().click();
      await page.locator(".drawer").waitFor();
    },
  },
  { name: "logs-none", as: "demo", reach: at("/console/logs?result=failed&text=nothing") },
  { name: "webhooks", as: "demo", reach: at("/console/webhooks") },
  { name: "webhooks-rotate", as: "demo", reach: at("/console/webhooks/rotate") },
  { name: "admin", as: "demo", reach: at("/console/admin") },
  { name: "admin-audit", as: "demo", reach: at("/console/admin/audit") },
  { name: "admin-reconcile", as: "demo", reach: (page) => follow(page, "/console/admin", 'main form[action$="/reconcile"] button') },
  { name: "admin-test-alert", as: "demo", reach: (page) => follow(page, "/console/admin", 'main form[action$="/test-alert"] button') },
  { name: "admin-accounts", as: "demo", reach: at("/console/admin/accounts") },
  { name: "admin-account", as: "demo", reach: ownAccount },
  { name: "admin-task", as: "demo", reach: (page) => ownAccount(page).then(() => press(page, 'main a[href*="/tasks/"]')) },
  {
    name: "admin-disable",
    as: "demo",
    reach: (page) => openAccount(page, "team@example.com").then(() => press(page, 'main a[href$="/disable"]')),
  },
  {
    name: "admin-erase",
    as: "demo",
    reach: (page) => openAccount(page, "leaving@example.com").then(() => press(page, 'main a[href$="/erase"]')),
  },
  {
    name: "admin-invitation",
    as: "demo",
    reach: (page) => openAccount(page, "guest@example.com").then(() => press(page, 'main form[action$="/invite"] button')),
  },
  { name: "admin-moves", as: "demo", reach: moveQuota },
  { name: "admin-models", as: "demo", reach: at("/console/admin/models") },
  { name: "admin-model", as: "demo", reach: at("/console/admin/models/imgA-4") },
  { name: "admin-model-json", as: "demo", reach: at("/console/admin/models/imgA-4/json") },
  { name: "admin-model-margin", as: "demo", reach: at("/console/admin/models/imgA-4/margin") },
  { name: "admin-model-new", as: "demo", reach: at("/console/admin/models/_new") },
  { name: "admin-model-maker", as: "demo", reach: at("/console/admin/models/_maker") },
  { name: "admin-model-refused", as: "demo", status: 400, reach: refuseModel },
  { name: "admin-model-wrong-line", as: "demo", status: 400, reach: refuseLine },
  { name: "admin-model-checked", as: "demo", reach: checkModel },
  { name: "admin-model-revisions", as: "demo", reach: saveModel },
  {
    name: "admin-model-remove",
    as: "demo",
    reach: (page) => saveModel(page).then(() => page.goto("/console/admin/models/vidD-02/remove")),
  },
  { name: "admin-month", as: "demo", reach: at("/console/admin?range=30d") },
  { name: "admin-margins", as: "demo", reach: at("/console/admin/margins") },
  { name: "admin-providers", as: "demo", reach: at("/console/admin/providers") },
  { name: "admin-audit-log", as: "demo", reach: at("/console/admin/audit-log") },
  { name: "admin-tasks", as: "demo", reach: at("/console/admin/tasks") },
  { name: "account", as: "demo", reach: at("/console/account") },
  { name: "task-running", as: "demo", reach: startSlow },
  { name: "task-cancelled", as: "demo", reach: (page) => startSlow(page).then(() => press(page, "form[action$='/cancel'] button")) },
  { name: "overview-empty", as: "new", reach: at("/console") },
  { name: "unknown", as: "demo", status: 404, reach: at("/console/unknown") },
  { name: "nothing-here", as: "demo", status: 404, reach: at("/console/keys/none/delete") },
];

/** Languages whose letters are wider or taller than English ones. */
export const otherLanguages = languages.filter((language) => language !== "en");

/** Opens the current page in another language and returns the status: the answer of a form may not be there. */
export async function speak(page: Page, language: string): Promise<number | undefined> {
  const { pathname, search } = new URL(page.url());
  await page.context().addCookies([{ name: "gateway_language", value: language, domain: new URL(page.url()).hostname, path: "/" }]);
  return (await page.goto(pathname + search))?.status();
}

/** A combination in which pages are checked. */
export const looks = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 800 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 800 } },
  { name: "phone", colorScheme: "light", viewport: { width: 360, height: 740 } },
] as const;

/** Shows the current page in another combination. */
export async function show(page: Page, { colorScheme, viewport }: (typeof looks)[number]): Promise<void> {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
}

/** Fills in the sign-in form, in any language. */
export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto("/console/sign-in");
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(password);
  await submit(page);
}

/** Signs up a new user. */
export async function signUp(page: Page): Promise<void> {
  await page.goto("/console/sign-up");
  await page.locator("[name=name]").fill("Ann Example");
  await page.locator("[name=email]").fill(`ann-${randomUUID()}@example.com`);
  await page.locator("[name=password]").fill(randomUUID());
  await submit(page);
}

/** Creates a key with the form: afterwards the browser shows its secret, the only time. */
async function createKey(page: Page, name: string): Promise<void> {
  await page.goto("/console/keys");
  await unfold(page);
  await page.locator("main [name=name]").fill(name);
  await submit(page);
}

/** Opens the playground with the newest task of this status beside the form. */
async function showRun(page: Page, status: string): Promise<void> {
  await page.goto("/console/playground");
  await page.goto((await page.locator(`#strip a[data-s="${status}"]`).first().getAttribute("href")) ?? "");
}

/** A form that was refused, with its summary. */
async function refuseRun(page: Page): Promise<void> {
  await page.goto("/console/playground?model=imgA-4");
  await page.locator("#run button[value=run]").click();
  await page.locator("#form [data-focus]:focus").waitFor();
}

/** A conversation with its first answer. */
async function askOnce(page: Page): Promise<void> {
  await page.goto("/console/playground?model=textA-1-mini");
  await page.locator("#f-say").fill("What is a dune made of?");
  await page.locator("#send").click();
  await page.locator(".chat > li > .meta").waitFor();
}

/** A kept conversation with these models, with an answer that has code. */
async function converse(page: Page, models: string[]): Promise<void> {
  await page.goto(`/console/chat?${models.map((model) => `model=${model}`).join("&")}`);
  await page.locator("#f-say").fill("Say this again:\n```python\nprint(429)  # the gateway says when\n```");
  await page.locator("#send").click();
  await page.waitForURL("**/console/chat/conv_*");
  await page
    .locator(".chat .code")
    .nth(models.length - 1)
    .waitFor();
}

/** A task that takes a minute, on its page. */
async function startSlow(page: Page): Promise<void> {
  await page.goto("/console/playground?model=imgA-4&prompt=A+quiet+harbour+sandbox:slow");
  await page.locator("#run button[value=run]").click();
  await page.waitForURL("**/console/playground?run=task_*");
  await page.goto(page.url().replace("playground?run=", "tasks/"));
}

/** Rows of a batch: images, one that the filter refuses, and one with a wrong field. */
const mixedTable = [
  "custom_id,model,prompt,size",
  ...["spring", "summer", "autumn", "winter"].map((season) => `field-${season},imgA-4,"Tea fields in ${season}, morning mist",16:9`),
  "refused,imgA-4,A scene that the filter refuses sandbox:flag,1:1",
  "misspelt,imgA-4,Tea fields,17:3",
].join("\n");

/** Pastes lines of a batch: afterwards the browser shows what they cost, or what is wrong with them. */
async function pasteLines(page: Page, text: string): Promise<void> {
  await page.goto("/console/batches/new?from=text");
  await page.locator("#f-text").fill(text);
  await submit(page);
}

/** Begins a batch of pasted lines: afterwards the browser is on its page. */
export async function startBatch(page: Page, text: string, name: string, destination?: string): Promise<void> {
  await pasteLines(page, text);
  await page.locator("[name=reference]").fill(name);
  await page.locator("[name=concurrency]").fill("4");
  if (destination !== undefined) await page.locator("[name=deliver_to]").selectOption(destination);
  await submit(page);
  await page.waitForURL("**/console/batches/batch_*");
}

/** A batch that takes longer than a test. */
async function startSlowBatch(page: Page): Promise<void> {
  const rows = Array.from({ length: 9 }, (_, at) => `shot-${at},imgA-4,"A harbour at night ${at} ${at > 1 ? "sandbox:slow" : ""}",16:9`);
  await startBatch(page, ["custom_id,model,prompt,size", ...rows].join("\n"), "Autumn catalogue");
  await page.locator("#batch .reels img").first().waitFor({ timeout: 30_000 });
}

/** A batch that has ended, with failed lines. */
async function endBatch(page: Page): Promise<void> {
  await startBatch(page, mixedTable, "Tea fields");
  await page.locator('#batch .pill[data-s="good"]').first().waitFor({ timeout: 60_000 });
}

/** A batch that has ended, and whose bucket does not answer. */
async function deliverBatch(page: Page): Promise<void> {
  await fillDestination(page, { name: "closed", endpoint: "https://127.0.0.1:9" });
  await submit(page);
  await startBatch(page, mixedTable, "Tea fields", "closed");
  await page.locator('#batch .pill[data-s="good"]').first().waitFor({ timeout: 60_000 });
}

async function fillDestination(page: Page, changes: Record<string, string> = {}): Promise<void> {
  await page.goto("/console/destinations");
  await unfold(page);
  const values = {
    name: "shop",
    endpoint: "https://s3.eu-central-1.amazonaws.com",
    bucket: "shop-media",
    region: "eu-central-1",
    access_key_id: "AKIAIOSFODNN7EXAMPLE",
    secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    prefix: "videos/",
    ...changes,
  };
  for (const [name, value] of Object.entries(values)) await page.locator(`main [name=${name}]`).fill(value);
}

async function addDestination(page: Page): Promise<void> {
  await fillDestination(page);
  await submit(page);
}

/** A prepaid code that does not exist. */
async function refuseCode(page: Page): Promise<void> {
  await page.goto("/console/billing");
  await page.locator("[name=code]").fill("AAAAA-AAAAA-AAAAA-AAAAA");
  await press(page, "#redeem button");
}

/** The smallest PNG, which no gateway made. */
const stranger = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The page that verifies a file, with the answer about one from elsewhere. */
async function verifyStranger(page: Page): Promise<void> {
  await page.goto("/verify");
  await page.locator(".drop-big input").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(stranger, "base64") });
  await page.locator("#proof .answer").waitFor();
}

/** An account with a credit and a debit. */
async function moveQuota(page: Page): Promise<void> {
  await openAccount(page, "moved@example.com");
  for (const [amount, reason] of [
    ["25", "Welcome credit"],
    ["-5", "Refund of an invoice"],
  ] as const) {
    await page.locator("[name=amount]").fill(amount);
    await page.locator("[name=reason]").fill(reason);
    await press(page, 'main form[action$="/quota"] button.primary');
  }
}

/** Opens the routes of a built-in model for changes, with a new time. */
async function editModel(page: Page): Promise<void> {
  await page.goto("/console/admin/models/vidD-02");
  if ((await page.locator('main [value="own"]:is(button)').count()) > 0) await press(page, 'main button[value="own"]');
  await page.locator('main [name="typical_seconds"]').fill(String(30 + Math.floor(Math.random() * 500)));
}

/** A model's form that was refused, with the error at its field. */
async function refuseModel(page: Page): Promise<void> {
  await editModel(page);
  await page.locator('main [name="routes.0.model"]').fill("");
  await press(page, "main .act [value=check]");
}

/** A model's JSON with a line that is wrong. */
async function refuseLine(page: Page): Promise<void> {
  await editModel(page);
  await page
    .locator('main [name="routes.0.provider"]')
    .evaluate((select: HTMLSelectElement) => select.add(new Option("kling", "kling", true, true)));
  await press(page, 'main .tabs [formaction$="/json"]');
  await press(page, "main .act [value=check]");
}

/** A model's form with a dry run, beside what changes. */
async function checkModel(page: Page): Promise<void> {
  await editModel(page);
  await press(page, "main .act [value=check]");
}

/** A changed model, with its revisions. */
async function saveModel(page: Page): Promise<void> {
  await editModel(page);
  await press(page, "main .act [value=save]");
  await page.goto("/console/admin/models/vidD-02/revisions");
}

/** Opens an account as the operator: afterwards the browser is on its page. */
async function openAccount(page: Page, email: string): Promise<void> {
  await page.goto("/console/admin/accounts");
  await unfold(page);
  await page.locator("main [name=email]").fill(email);
  await press(page, 'main form[method="post"] button');
}

/** The demo account's page for the operator. */
async function ownAccount(page: Page): Promise<void> {
  await follow(page, "/console/admin/accounts?q=demo@example.com", "main th a");
}

/** Opens the form below the page's list, if it is folded, with the link in the page's head. */
async function unfold(page: Page): Promise<void> {
  if ((await page.locator("main .fold:not([open])").count()) > 0) await page.locator('main a.btn[href^="#f-"]').click();
}

/** Presses the button of the page's main form and waits for the answer. */
async function submit(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent("load"), page.locator("main form[method=post] button.primary").click()]);
}

/** Opens the newest task that the gallery shows with this query. */
async function openTask(page: Page, query: string): Promise<void> {
  await page.goto(`/console/tasks?${query}`);
  await page.goto((await page.locator("#tasks li > a").first().getAttribute("href"))!);
}

/** Opens the newest image in the gallery's lightbox. */
async function openLightbox(page: Page): Promise<void> {
  await page.goto("/console/tasks?kind=image&status=completed");
  await page.locator("a[data-open]").first().click();
  await page.locator("#light img").first().waitFor();
}

/** Opens a page and follows the first matching link on it. */
async function follow(page: Page, from: string, link: string): Promise<void> {
  await page.goto(from);
  await press(page, link);
}

/** Presses the first matching link or button and waits for the next page. */
async function press(page: Page, what: string): Promise<void> {
  await Promise.all([page.waitForEvent("load"), page.locator(what).first().click()]);
}
