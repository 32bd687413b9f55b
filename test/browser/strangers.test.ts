/** Data of one account is not visible to another, and user text stays text. */

import { expect, test } from "./support/test.ts";

interface Listed {
  id: string;
  result: { images?: { url: [string] }[]; data?: { characters: { id: string }[] } };
}

test("another account's task, its files and its character are 404", async ({ signedIn, visitor, gateway, watch }) => {
  /** The newest completed task of a kind, of images one with several: other tests make images too. */
  const listed = async (kind: string): Promise<Listed> => {
    const headers = { authorization: `Bearer ${gateway.account.apiKey}` };
    const answer = await fetch(`${gateway.baseUrl}/v1/tasks?kind=${kind}&status=completed&limit=100`, { headers });
    const { data } = (await answer.json()) as { data: Listed[] };
    return data.find(({ result }) => kind !== "image" || result.images!.length > 1)!;
  };
  const { id, result } = await listed("image");
  const character = (await listed("character")).result.data!.characters[0]!;
  const page = await signedIn();
  watch.expect(/status of 404/);
  for (const path of [`tasks/${id}`, `playground?from=${id}`, `characters/${character.id}/delete`]) {
    expect((await page.goto(`/console/${path}`))!.status()).toBe(404);
    expect(await page.content()).not.toContain("lighthouse");
  }
  for (const path of [`tasks/${id}/cancel`, `tasks/${id}/again`, `characters/${character.id}/delete`]) {
    const answer = await page.request.post(`/console/${path}`, { form: { key: "any" }, headers: { origin: gateway.baseUrl } });
    expect(answer.status()).toBe(404);
  }

  // A file's complete URL gives access to anyone; its path alone does not, nor does the signature of another file.
  const url = new URL(result.images![0]!.url[0]);
  const other = new URL(result.images![1]!.url[0]);
  expect((await page.request.get(url.href)).status()).toBe(200);
  const refused = async (path: string) => expect((await page.request.get(path)).status()).toBeGreaterThanOrEqual(400);
  await refused(url.pathname);
  await refused(`${url.pathname}${other.search}`);

  const guest = await visitor();
  await guest.goto(`/console/tasks/${id}`);
  expect(new URL(guest.url()).pathname).toBe("/console/sign-in");
});

// The watch reports a dialog, or an error of the browser about script in the page.
test("a prompt with script is shown as text wherever it is shown", async ({ signedIn }) => {
  const prompt = `<script>alert(1)</script>"><img src=x onerror=alert(2)>'</textarea></code>`;
  const page = await signedIn();
  /** The prompt is readable on the page, and no part of it is an element. */
  const isText = async (text: string | null) => {
    expect(text).toContain(prompt);
    expect(await page.locator('img[src="x"], [onerror], script:not([src])').count()).toBe(0);
  };
  await page.goto("/console/playground?model=imgA-4");
  await page.getByLabel("Prompt").fill(prompt);
  const program = page.locator("#code-python");
  await expect.poll(() => program.textContent()).toContain("alert(2)");
  await isText(JSON.parse(/"prompt": (".*")/.exec((await program.textContent())!)![1]!) as string);
  await page.locator("#run button[value=run]").click();
  const image = page.locator("#result .shots img");
  await image.waitFor();
  await isText(await image.getAttribute("alt"));
  await page.getByRole("link", { name: "Open task" }).click();
  await page.waitForURL("**/console/tasks/task_*");
  await isText(await page.locator("#task h1").innerText());
  await page.getByRole("link", { name: "Change and run" }).click();
  await page.waitForURL("**/console/playground?from=*");
  await isText(await page.getByLabel("Prompt").inputValue());
  await page.getByRole("link", { name: "Gallery", exact: true }).click();
  await isText(await page.locator("#tasks .tiles img").getAttribute("alt"));
});
