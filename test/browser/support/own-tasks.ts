/** Tasks of a console user, created through the API with a key of their account. */

import type { Page } from "playwright-core";

interface Operator {
  baseUrl: string;
  adminToken: string;
}

/** Creates a key of the user's account, submits these bodies, and waits until all tasks are final. Returns their ids, oldest first. */
export async function makeTasks({ baseUrl, adminToken }: Operator, page: Page, bodies: Record<string, unknown>[]): Promise<string[]> {
  const ask = async (path: string, token: string, body?: object) => {
    const answer = await fetch(baseUrl + path, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { id: string; key: string; data: { id: string; status: string }[] };
  };
  const email = await page.locator("#me-menu strong").textContent();
  const account = (await ask(`/admin/accounts?email=${encodeURIComponent(email ?? "")}`, adminToken)).data[0];
  const { key } = await ask(`/admin/accounts/${account?.id}/keys`, adminToken, { name: "program", quota: null });
  const ids: string[] = [];
  for (const body of bodies) {
    const kind = String(body["model"]).startsWith("img") ? "images" : "videos";
    ids.push((await ask(`/v1/${kind}/generations`, key, body)).id);
  }
  for (const id of ids) {
    const { data } = (await ask(`/v1/tasks/${id}?wait=60`, key)) as unknown as { data: { status: string } };
    if (!["completed", "failed"].includes(data.status)) throw new Error(`${id} did not end`);
  }
  return ids;
}
