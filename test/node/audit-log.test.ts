/** The audit log is append only: of all source files one may change or delete its rows, and it only removes old ones and those of erased accounts. */

import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("no other file changes or deletes rows of the audit log", () => {
  const root = new URL("../../", import.meta.url).pathname;
  const files = globSync(["src/**/*.{ts,tsx,js}", "scripts/**/*.ts", "migrations/*.sql"], { cwd: root });
  const changes =
    /\b(?:UPDATE|DELETE\s+FROM|REPLACE\s+INTO|INSERT\s+OR\s+REPLACE\s+INTO|DROP\s+TABLE|ALTER\s+TABLE)\s+(?:OR\s+\w+\s+)?["`]?audit_log\b(?!_)/gi;
  const found = files.flatMap((file) => [...readFileSync(root + file, "utf8").matchAll(changes)].map(([text]) => `${file}: ${text}`));
  expect(found).toEqual(["src/db/audit-log.ts: DELETE FROM audit_log", "src/db/audit-log.ts: DELETE FROM audit_log"]);
});
