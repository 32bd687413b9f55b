/** The Markdown files of the repository: links, files and commands that they name exist. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { generated } from "../../scripts/support/generated.ts";
import { root } from "../../scripts/support/wrangler.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const pages = globSync(["*.md", ".github/**/*.md", "docs/**/*.md", "examples/*.md", "clients/*/README.md", "src/console/site/docs/*.md"], {
  cwd: root,
}).map((file) => ({ file, text: read(file) }));
const { scripts, dependencies, devDependencies } = JSON.parse(read("package.json")) as Record<
  "scripts" | "dependencies" | "devDependencies",
  Record<string, string>
>;

/** What a page names that does not exist, as `file: name`. */
const missing = (find: (text: string, file: string) => string[]) =>
  pages.flatMap(({ file, text }) => find(text, file).map((name) => `${file}: ${name}`));
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = ""]) => found);

/** The ids of a page's headings, as GitHub and `/docs` make them. */
const anchors = (file: string) =>
  matches(read(file).replaceAll(/^```.*?^```/gms, ""), /^#+ (.*)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );

test("every link to a file or a heading leads there", () => {
  const broken = missing((text, file) =>
    matches(text, /\]\(([^)\s]+)\)/g).filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? file : join(dirname(file), path);
      return !existsSync(join(root, target)) || (anchor !== undefined && !anchors(target).includes(anchor));
    }),
  );
  expect(broken).toEqual([]);
});

test("every file of the repository that a page names exists", () => {
  const isPlaceholder = (path: string) => /\/name\b/.test(path);
  // Packages are there once `npm run packages` has made them.
  const isMade = (path: string) => path.startsWith("clients/dist");
  const absent = missing((text) =>
    matches(text, /`((?:src|test|scripts|docs|bench|examples|clients|migrations)\/[\w./-]*\w\/?)`/g).filter(
      (path) => !isPlaceholder(path) && !isMade(path) && !path.includes("/.") && !existsSync(join(root, path)),
    ),
  );
  expect(absent).toEqual([]);
});

test("every npm script that a page names exists, and CONTRIBUTING.md lists all of them", () => {
  expect(missing((text) => matches(text, /\bnpm run (?:-s )?([\w:-]+)/g).filter((name) => !(name in scripts)))).toEqual([]);
  // A list of short names follows one `npm run`.
  const listed = matches(read("CONTRIBUTING.md"), /`(?:npm (?:run )?)?([\w:-]+)/g);
  expect(Object.keys(scripts).filter((name) => !listed.includes(name))).toEqual([]);
});

test("every program of a command that a page names exists, and CONTRIBUTING.md lists all of them", () => {
  const programs = (file: string) => matches(read(file), /^  "?([\w-]+)"?: (?:\["|async \(\)|\(\) => import)/gm);
  const known: Record<string, string[]> = {
    bench: programs("bench/main.ts"),
    tools: programs("scripts/tools.ts"),
    generate: [...programs("scripts/generate.ts"), ...Object.keys(generated)],
  };
  const named = (text: string) =>
    [...text.matchAll(/\bnpm run (bench|tools|generate) -- ([a-z][\w-]*)/g)].map(([, command = "", name = ""]) => [command, name] as const);
  expect(
    missing((text) => named(text).flatMap(([command, name]) => (known[command]?.includes(name) ? [] : [`${command} ${name}`]))),
  ).toEqual([]);
  const listed = new Set(named(read("CONTRIBUTING.md")).map((one) => one.join(" ")));
  const all = Object.entries(known).flatMap(([command, names]) => names.map((name) => `${command} ${name}`));
  expect(all.length).toBeGreaterThanOrEqual(20);
  // Without a name `npm run bench` runs this one.
  expect(all.filter((one) => !listed.has(one))).toEqual(["bench tasks"]);
});

test("every package has a row in docs/dependencies.md", () => {
  const named = new Set(matches(read("docs/dependencies.md"), /^\| (.*?) +\|/gm).flatMap((cell) => cell.split(/, | \(/)));
  expect(Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !named.has(name))).toEqual([]);
});
