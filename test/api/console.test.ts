/** The pages at /console are another Worker's. */

import { expect, test } from "vitest";
import { call } from "../support/gateway.ts";

test("what is asked below /console is handed on as it is, and the answer bears the gateway's headers", async () => {
  for (const path of ["/console", "/console/keys/x"]) {
    const { status, headers, body } = await call(path);
    expect(status).toBe(200);
    expect(new TextDecoder().decode(body)).toBe(`console: ${path}`);
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("a deployment without the console has nothing there, and a longer name is something else", async () => {
  expect((await call("/consoles")).status).toBe(404);
  const { status, body } = await call("/console", { vars: { CONSOLE: undefined } as unknown as Partial<Env> });
  expect(status).toBe(404);
  expect(body.error.code).toBe("not_found");
});
