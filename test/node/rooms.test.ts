/** The map in docs/architecture.md is true: every folder imports what its row names, from lower rows only, and no files import each other in a circle. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../scripts/support/wrangler.ts";

/** A row of the map: a folder or a file of `src`, and the rows that it may import. */
interface Room {
  name: string;
  imports: string[];
}

const cells = (line: string) => line.split("|").map((cell) => cell.trim());
const names = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

/** The rows of the map, the highest floor first. */
const rooms: Room[] = readFileSync(join(root, "docs/architecture.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map(cells)
  .flatMap(([, room = "", , imports = ""]) => names(room).map((name) => ({ name, imports: names(imports) })));

// The types of bindings name the classes of every Worker, which is what they are for.
const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).filter((file) => !file.endsWith(".d.ts"));
const importPattern = /(?:^|\n)\s*(?:import|export)\s[^;"]*?from\s+"(\.[^"]+)"|(?:^|\n)import\s+"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)/g;

/** The files of `src` that a file imports, types included. */
const imported = new Map(
  files.map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const targets = [...text.matchAll(importPattern)].map(([, a, b, c]) => normalize(join(dirname(file), a ?? b ?? c ?? "")));
    return [file, targets.filter((target) => files.includes(target) && existsSync(join(root, target)))];
  }),
);

/** The row of a file: the longest name that it begins with. */
const toRoom = (file: string): Room | undefined =>
  rooms.filter(({ name }) => file === `src/${name}` || file.startsWith(`src/${name}/`)).sort((a, b) => b.name.length - a.name.length)[0];

test("every file of src is in a row of the map, and every row has files", () => {
  expect(files.filter((file) => !toRoom(file))).toEqual([]);
  expect(rooms.filter((room) => !files.some((file) => toRoom(file) === room))).toEqual([]);
});

test("a folder imports what its row names and nothing else", () => {
  const wrong = [...imported].flatMap(([file, targets]) =>
    targets
      .filter((target) => {
        const [from, to] = [toRoom(file), toRoom(target)];
        return from && to && from !== to && !from.imports.includes(to.name);
      })
      .map((target) => `${file} -> ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("a row names lower rows only", () => {
  const floor = new Map(rooms.map(({ name }, at) => [name, at]));
  const wrong = rooms.flatMap(({ name, imports }) =>
    imports.filter((other) => (floor.get(other) ?? -1) <= floor.get(name)!).map((other) => `${name} -> ${other}`),
  );
  expect(wrong).toEqual([]);
});

test("no files import each other in a circle", () => {
  expect(findCircles(files, (file) => imported.get(file) ?? [])).toEqual([]);
});

/** Tarjan's algorithm: the groups of nodes that reach each other. */
function findCircles(nodes: string[], next: (node: string) => string[]): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (node: string) => {
    order.set(node, order.size);
    low.set(node, order.get(node)!);
    open.push(node);
    for (const other of next(node)) {
      if (!order.has(other)) visit(other);
      if (open.includes(other)) low.set(node, Math.min(low.get(node)!, low.get(other)!));
    }
    if (low.get(node) !== order.get(node)) return;
    const circle = open.splice(open.indexOf(node));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const node of nodes) if (!order.has(node)) visit(node);
  return circles;
}
