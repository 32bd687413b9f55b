/** docs/configuration.md and docs/providers.md have each variable that a Worker or a command reads once, and no other. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { declaredNames } from "../../scripts/deploy/configuration.ts";
import { gateway, parts, providerSecrets } from "../../scripts/deploy/parts.ts";
import { root } from "../../scripts/support/wrangler.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const readAll = (patterns: string[]) =>
  globSync(patterns, { cwd: root })
    .filter((file) => !file.endsWith(".d.ts"))
    .map(read)
    .join("\n");

/** The names in columns of a page's tables. */
const tableNames = (text: string, columns: number[]) =>
  [...text.matchAll(/^\| (.*) \|$/gm)].flatMap(([, row = ""]) => {
    const cells = row.split(/ +\| +/);
    return columns.flatMap((column) => [...(cells[column] ?? "").matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = ""]) => name));
  });

const [settings = "", commands = ""] = read("docs/configuration.md").split("## Commands");
const ofWorkers = [...tableNames(settings, [0]), ...tableNames(read("docs/providers.md"), [1, 2])];
const ofCommands = tableNames(commands, [0]);

/** Only a local gateway reads them, so they are beside the other variables of `npm start`. */
const lifetimes = ["ASSET_TTL_S", "RECORD_TTL_S"];
/** The secrets of providers during a rotation, which are in one row. */
const rotated = Object.values(providerSecrets)
  .flat(2)
  .map((name) => `${name}_OLD`)
  .filter((name) => name !== "OPENAI_API_KEY_OLD");

test("a deployment recognises the secrets of each provider", () => {
  const [, record = ""] = /^const providers: .*? = \{\n(.*?)^\};/ms.exec(read("src/providers/index.ts")) ?? [];
  const names = [...record.matchAll(/^ {2}(\w+)[:,]/gm)].map(([, name = ""]) => name);
  const withoutSecret = ["media", "sandbox"];
  expect(names.toSorted()).toEqual([...Object.keys(providerSecrets), ...withoutSecret].toSorted());
});

test("each secret of a provider can be rotated", () => {
  const declared = declaredNames(gateway);
  // Account ids and base URLs are no secrets.
  expect(rotated.filter((name) => !/_(?:ID|URL)_OLD$/.test(name) && !declared.has(name))).toEqual([]);
});

test("the variables of all Workers are documented, each once", () => {
  const declared = new Set(["JURISDICTION", ...parts.flatMap((part) => [...declaredNames(part)])]);
  expect(ofWorkers.toSorted()).toEqual([...declared].filter((name) => ![...rotated, ...lifetimes].includes(name)).toSorted());
});

test("a Worker reads each of its variables", () => {
  const source = readAll(["src/**/*.{ts,tsx}"]);
  expect([...ofWorkers, ...lifetimes].filter((name) => name !== "OPENAI_API_KEY_OLD" && !new RegExp(`\\b${name}\\b`).test(source))).toEqual(
    [],
  );
});

test("the variables that commands read are documented, each once", () => {
  const source = readAll(["scripts/**/*.ts", "bench/**/*.ts"]);
  const single = [...source.matchAll(/process\.env\["([A-Z][A-Z0-9_]*)"\]/g)].map(([, name]) => name);
  const several = [...source.matchAll(/const \{([^}]*)\} = process\.env/g)].flatMap(
    ([, names = ""]) => names.match(/\b[A-Z][A-Z0-9_]+/g) ?? [],
  );
  /** Variables of the system, of other programs and of the Workers. */
  const others = new Set(["PATH", "TMPDIR", "NO_PROXY", "MINIFLARE_WORKERD_V8_FLAGS", "CLOUDFLARE_API_BASE_URL", ...ofWorkers]);
  const own = new Set([...single, ...several].filter((name) => name !== undefined && !others.has(name)));
  expect(ofCommands.toSorted()).toEqual([...own, "RECORD_TTL_S"].toSorted());
});
