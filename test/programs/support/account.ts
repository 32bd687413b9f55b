/** Accounts of the tests' common gateway. */

import { expect } from "vitest";

/** The common gateway: its address and the operator's token. */
export const gateway = { baseUrl: process.env["GATEWAY_URL"] ?? "", adminToken: process.env["GATEWAY_ADMIN_TOKEN"] ?? "" };

/** Creates an account with this quota, in balance units, and returns its key. `name` is the part of its e-mail address before the "@". */
export async function newKey(name: string, quota: number): Promise<string> {
  const { id } = await post<{ id: string }>("/accounts", { email: `${name}@example.com`, quota });
  return (await post<{ key: string }>(`/accounts/${id}/keys`, { name, quota: null })).key;
}

async function post<Answer>(path: string, body: object): Promise<Answer> {
  const answer = await fetch(`${gateway.baseUrl}/admin${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.adminToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Answer;
}
