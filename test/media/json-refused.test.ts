/** Every reason to refuse a body, with exact limits, and bodies that break off. */

import { expect, test } from "vitest";
import { parseFields } from "../../src/api/chat/answer.ts";
import { parseJson } from "../../src/media/json-limits.ts";
import { readJson } from "../../src/providers/shared/http.ts";
import { buildPng, read, readReason, toStream, toUri } from "./json-bodies.ts";

test("limits are exact to the byte", async () => {
  const image = toUri(buildPng(30_000));
  const body = `{"images":["${image}"],"prompt":"é"}`;
  const length = new TextEncoder().encode(body).length;
  expect(await readReason(read(body, { maxBytes: length }))).toBe("read");
  expect(await readReason(read(body, { maxBytes: length - 1 }))).toBe("too_large");
  const { placeholders } = await read(body);
  const rest = length - image.length + placeholders[0]!.length;
  expect(await readReason(read(body, { maxSkeletonBytes: rest }))).toBe("read");
  expect(await readReason(read(body, { maxSkeletonBytes: rest - 1 }))).toBe("too_large");
  const endless = toStream(
    (function* () {
      yield '{"a":"';
      for (;;) yield "b".repeat(65_536);
    })(),
  );
  expect(await readReason(read(endless))).toBe("too_large");
});

test("depth is limited before anything is parsed", async () => {
  const nested = (depth: number) => `${"[{".repeat(depth / 2)}"a":1${"}]".repeat(depth / 2)}`.replaceAll("{[", '{"b":[');
  expect(await readReason(read(nested(64)))).toBe("read");
  expect(await readReason(read(`[${nested(64)}]`))).toBe("too_complex");
  expect(await readReason(read("[".repeat(500_000)))).toBe("too_complex");
  expect(await readReason(read(`"${"[".repeat(500_000)}"`))).toBe("read");
});

test("the number of values is limited before anything is parsed", async () => {
  // The object, its field's list, and each value after the first one.
  const list = (item: string, count: number) => `{"a":[${Array.from({ length: count }, () => item).join()}]}`;
  expect(await readReason(read(list("0", 99_999)))).toBe("read");
  expect(await readReason(read(list("0", 100_000)))).toBe("too_complex");
  expect(await readReason(read(list("[]", 50_001)))).toBe("too_complex");
  expect(await readReason(read(`{"a":[${"{},".repeat(50_000)}0],"b":0}`))).toBe("too_complex");
  const commas = `{"a":"${",[{".repeat(100_000)}","b\\"${",".repeat(100_001)}":0}`;
  expect(await readReason(read(commas))).toBe("read");

  for (const text of [list("0", 99_999), commas]) expect(JSON.stringify(parseJson(text))).toBe(text);
  for (const text of [list("0", 100_000), list("{}", 50_001)]) expect(() => parseJson(text)).toThrow("too_complex");
  for (const text of [`{"a":"${",".repeat(100_001)}`, `${",".repeat(100_000)}"`]) expect(() => parseJson(text)).toThrow(SyntaxError);
});

test("a provider's answer with too many values is not parsed; a chat's may have more, for its log probabilities", async () => {
  const dense = (values: number) => `{"choices":[],"x":[${"[],".repeat(values / 2)}0]}`;
  expect(await readJson(new Response(dense(100_000)))).toBeUndefined();
  expect(await readJson(new Response(dense(90_000)))).toMatchObject({ choices: [] });
  expect(parseFields(dense(990_000))).toMatchObject({ choices: [] });
  expect(() => parseFields(dense(1_000_000))).toThrow("not a JSON object");
});

test("text that JSON.parse refuses is refused, also inside an image", async () => {
  const long = "A".repeat(3000);
  const texts = [
    "", " ", "{", "}", "]", "{]", '{"a":1}}', '{"a":1} x', '{"a"}', '{"a":1,}', "[1,]", "[1 2]", "nul", "01", '"', '"a', '"\\', '"\\u12', "'a'", "{a:1}", '{"a":"\n"}',
    "\ufeff\ufeff{}", '{} "', '{"\\x":1}',
    `{"images":["${long}`, `{"images":["${long}"`, `{"images":["${long}\\`, `{"images":["${long}\n"]}`, `{"images":["${long}\\x"]}`, `{"images":["${long}\\u00g0"]}`,
    `{"images":["${long}\t"]}`, `{"images":["${long}"]]`, `{"images":["!!!${long}\\"]}`,
  ]; // oxfmt-ignore
  for (const text of texts) expect(await readReason(read(text)), text.slice(0, 40)).toBe("not_json");
  expect(await readReason(read(toStream(["[", "\ufeff]"])))).toBe("not_json");
  const encoder = new TextEncoder();
  for (const [start, end] of [
    ['{"a":"', '"}'],
    [`{"images":["${long}`, '"]}'],
  ] as const) {
    for (const bad of [[0xff], [0xc3], [0xc3, 0x28], [0xed, 0xa0, 0x80]]) {
      expect(await readReason(read(toStream([encoder.encode(start), Uint8Array.from(bad), encoder.encode(end)])))).toBe("not_json");
    }
    expect(await readReason(read(toStream([encoder.encode(start), Uint8Array.of(0xc3)])))).toBe("not_json");
  }
});

test("a control character is refused wherever it stands in an image", async () => {
  const long = buildPng(6000).toBase64();
  for (let code = 0; code < 0x20; code++) {
    const control = String.fromCharCode(code);
    for (const at of [0, 1, 300, 4001, long.length - 1, long.length]) {
      for (const image of [long, `${long}==`, `*${long}`, `data:${long}`]) {
        const text = `{"images":["${image.slice(0, at)}${control}${image.slice(at)}"]}`;
        const chunks = at === 1 ? [text] : [text.slice(0, 13 + at), text.slice(13 + at)];
        expect(await readReason(read(toStream(chunks))), `${code} at ${at}`).toBe("not_json");
      }
    }
  }
});

test("when a body breaks off or the store fails, the reading ends after the running store calls", async () => {
  const events: string[] = [];
  const image = JSON.stringify(toUri(buildPng(3000)));
  let reads = 0;
  const breaking = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        reads++;
        events.push("read");
        if (reads <= 2) controller.enqueue(new TextEncoder().encode(reads === 1 ? `{"images":[${image}` : `,${image},"AAAA`));
        else controller.error(new Error("gone"));
      },
    },
    { highWaterMark: 0 },
  );
  const store = async () => {
    events.push("begin");
    await scheduler.wait(1);
    events.push("end");
  };
  expect(await readReason(read(breaking, { store }))).toBe("interrupted");
  expect(events).toEqual(["read", "begin", "end", "read", "begin", "end", "read"]);

  let cancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => controller.enqueue(new TextEncoder().encode(`{"images":[${image},${image}`)),
      cancel: () => {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const fault = new Error("R2 is down");
  let stores = 0;
  const failing = async () => {
    stores++;
    await scheduler.wait(1);
    throw fault;
  };
  expect(await readReason(read(body, { store: failing }))).toBe(fault);
  expect({ stores, cancelled }).toEqual({ stores: 1, cancelled: true });
});
