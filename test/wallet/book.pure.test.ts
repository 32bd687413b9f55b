/** The book of a wallet object: what a start of the object reads back from its pages, and how little it keeps of entries that D1 has. */

import { expect, test } from "vitest";
import { Random } from "../../scripts/support/random.ts";
import { type Page, WalletBook } from "../../src/wallet/book.ts";

const rememberMs = 120_000;
const keys = ["key_one", "key_two"];

const summary = (book: WalletBook) => ({
  unwritten: new Map(book.unwritten().map(({ taskId, end }) => [taskId, end?.n ?? 0])),
  sums: [book.sums(), ...keys.map((id) => book.sums(id))],
  outbox: book.outboxSize,
  settledTo: book.settledTo,
});

test.each(Array.from({ length: 30 }, (_, at) => at + 1))("seed %i: a start at any time finds the same holds and settlements", (seed) => {
  const random = new Random(seed);
  const stored = new Map<number, Page>();
  const store = (page: Page | undefined) => page && stored.set(page.seq, structuredClone(page));
  let book = new WalletBook();
  let [now, flushedTo, firstPage] = [1_000_000, 0, 0];
  const open: string[] = [];
  const ended = new Map<string, number>();
  for (let step = 0; step < 400; step++) {
    now += random.int(0, 2_000);
    const taskId = `task_${step}`;
    const entry = { taskId, keyId: random.pick(keys), kind: random.pick(["chat", "image"]), model: "m", held: random.int(0, 900), at: now };
    const action = random.pick(["hold", "hold", "settle", "settle", "refused", "flush", "start"]);
    if (action === "hold") {
      store(book.add(entry));
      open.push(taskId);
    } else if (action === "settle" && open.length > 1) {
      const [one = ""] = open.splice(random.int(random.chance(0.1) ? 0 : 1, open.length - 1), 1);
      store(book.settle(one, { charged: random.int(0, 900), outcome: "completed", at: now }));
      ended.set(one, now);
    } else if (action === "refused") {
      store(book.add({ ...entry, held: 0, end: { charged: 0, outcome: "refused", at: now, n: 0 } }));
      ended.set(taskId, now);
    } else if (action === "flush" && book.outboxSize > 0) {
      flushedTo = book.batch(random.int(1, 40)).to;
      book.flushed(flushedTo);
      book.forget(now - rememberMs);
      firstPage = book.firstPage;
    } else if (action === "start") {
      const again = new WalletBook();
      for (const [seq, page] of stored)
        if (seq >= firstPage) {
          again.load(structuredClone(page), flushedTo);
          again.forget(now - rememberMs);
        }
      expect(summary(again)).toEqual(summary(book));
      book = again;
    }
    for (const one of open) expect(book.isOpen(one)).toBe(true);
    for (const [one, at] of ended) if (at >= now - rememberMs) expect(book.isOpen(one), `${one} ended lately`).toBe(false);
  }
});

test("a settlement charges at most what was held, and at least nothing", () => {
  const book = new WalletBook();
  for (const [at, charged] of [-1, 0, 100, 101].entries()) {
    book.add({ taskId: `task_${at}`, keyId: "key_one", kind: "image", model: "m", held: 100, at });
    book.settle(`task_${at}`, { charged, outcome: "completed", at });
  }
  expect(book.batch(10).entries.map(({ charged }) => charged)).toEqual([0, 0, 100, 100]);
  expect(book.sums()).toEqual({ held: 0, owed: 200, tasks: 0 });
});

test("of a busy account, pages of two minutes stay in memory by their ids, and older ones not at all", () => {
  const book = new WalletBook();
  const first = (at: number) => `task_${at}`;
  let firstPage = 0;
  book.add({ taskId: "long", keyId: "key_one", kind: "chat", model: "m", held: 1, at: 0 });
  for (let at = 1; at <= 3_200; at++) {
    const now = at * 100;
    book.add({ taskId: first(at), keyId: "key_one", kind: "chat", model: "m", held: 100, at: now });
    book.settle(first(at), { charged: 40, outcome: "completed", at: now });
    if (book.outboxSize < 100) continue;
    book.flushed(book.batch(100).to);
    book.forget(now - rememberMs);
    firstPage = book.firstPage;
  }
  expect(firstPage, "the page of the long chat").toBe(1);
  expect([book.isOpen("long"), book.isOpen(first(3_200)), book.isOpen(first(2_100))]).toEqual([true, false, false]);
  expect(book.isOpen(first(1_800))).toBeUndefined();
});
