// Made by `npm run generate` from src/media/credentials.ts: defines credentialReader.
const fourLetters = (bytes            , offset        ) => String.fromCharCode(...bytes.subarray(offset, offset + 4));
const toDataView = (bytes            ) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const maxTaken = 64;
const maxParts = 100_000;
function credentialReader(type        )                   {
  const parser = parsers[type]?.();
  const held = new Uint8Array(maxTaken);
  let heldBytes = 0;
  let passed = 0;
  let place                           ;
  let need = parser ? next(parser.next()) : undefined;
  function next({ done, value }                               )                   {
    if (!done) return value;
    if (value) place = { start: passed - manifestHead, length: toDataView(held).getUint32(0) };
    return undefined;
  }
  return {
    get found() {
      return place !== undefined;
    },
    get place() {
      return place;
    },
    push(bytes) {
      for (let at = 0; need && at < bytes.length;) {
        if ("skip" in need) {
          const skipped = Math.min(need.skip, bytes.length - at);
          at += skipped;
          passed += skipped;
          need = need.skip > skipped ? { skip: need.skip - skipped } : next(parser .next(held));
          continue;
        }
        const part = bytes.subarray(at, at + need.take - heldBytes);
        held.set(part, heldBytes);
        heldBytes += part.length;
        at += part.length;
        passed += part.length;
        if (heldBytes < need.take) return;
        heldBytes = 0;
        need = next(parser .next(held.subarray(0, need.take)));
      }
    },
  };
}
const parsers                               = {
  "image/png": png,
  "image/jpeg": jpeg,
  "image/webp": webp,
  "video/mp4": mp4,
};
const take = function* (count        )                                          {
  return yield { take: count };
};
const skip = function* (count        )                                    {
  if (count > 0) yield { skip: count };
};
const manifestHead = 32;
const c2paUuid = "63327061-0011-0010-8000-00aa00389b71";
const isManifest = (head            ) =>
  fourLetters(head, 4) === "jumb" && fourLetters(head, 12) === "jumd" && isUuid(head.subarray(16), c2paUuid);
const isUuid = (bytes            , uuid        ) =>
  uuid
    .replaceAll("-", "")
    .match(/../g)
    .every((pair, at) => bytes[at] === Number.parseInt(pair, 16));
function* manifestIn(length        )         {
  if (length < manifestHead) {
    yield* skip(length);
    return false;
  }
  if (isManifest(yield* take(manifestHead))) return true;
  yield* skip(length - manifestHead);
  return false;
}
function* png()         {
  yield* skip(8);
  for (let parts = 0; parts < maxParts; parts++) {
    const head = yield* take(8);
    const length = toDataView(head).getUint32(0);
    const type = fourLetters(head, 4);
    if (type === "IEND") return false;
    if (type === "caBX" && (yield* manifestIn(length))) return true;
    yield* skip(type === "caBX" ? 4 : length + 4);
  }
  return false;
}
function* jpeg()         {
  yield* skip(2);
  for (let parts = 0; parts < maxParts; parts++) {
    let [first, marker] = yield* take(2);
    if (first !== 0xff) return false;
    while (marker === 0xff && parts++ < maxParts) [marker] = yield* take(1);
    if (marker === 0xda || marker === 0xd9 || marker === undefined) return false;
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) continue; // markers without a length
    const length = toDataView(yield* take(2)).getUint16(0) - 2;
    if (length < 0) return false;
    const isApp11 = marker === 0xeb && length >= 8 + manifestHead;
    if (!isApp11) {
      yield* skip(length);
      continue;
    }
    const head = yield* take(8);
    const isFirstPacket = head[0] === 0x4a && head[1] === 0x50 && toDataView(head).getUint32(4) === 1;
    if (!isFirstPacket) yield* skip(length - 8);
    else if (yield* manifestIn(length - 8)) return true;
  }
  return false;
}
function* webp()         {
  yield* skip(12);
  for (let parts = 0; parts < maxParts; parts++) {
    const head = yield* take(8);
    const length = toDataView(head).getUint32(4, true);
    const isNamed = fourLetters(head, 0) === "C2PA";
    if (isNamed && (yield* manifestIn(length))) return true;
    yield* skip((isNamed ? 0 : length) + (length % 2));
  }
  return false;
}
const boxUuid = "d8fec3d6-1b0e-483c-9297-5828877ec481";
const purposes = new Set(["manifest", "original", "update"]);
function* mp4()         {
  for (let parts = 0; parts < maxParts; parts++) {
    const head = yield* take(8);
    const type = fourLetters(head, 4);
    let length = toDataView(head).getUint32(0) - 8;
    if (length === -7) length = Number(toDataView(yield* take(8)).getBigUint64(0)) - 16;
    else if (length === -8) length = Infinity; // to the end of the file
    if (length < 0) return false;
    if (type !== "uuid" || length < 20 + 18 + manifestHead) {
      yield* skip(length);
      continue;
    }
    if (!isUuid(yield* take(16), boxUuid)) {
      yield* skip(length - 16);
      continue;
    }
    let rest = length - 20;
    yield* skip(4);
    let purpose = "";
    for (let byte = -1; byte !== 0 && purpose.length <= 8; rest--) {
      [byte = 0] = yield* take(1);
      if (byte !== 0) purpose += String.fromCharCode(byte);
    }
    if (!purposes.has(purpose)) {
      yield* skip(rest);
      continue;
    }
    yield* skip(8);
    if (yield* manifestIn(rest - 8)) return true;
  }
  return false;
}
globalThis.credentialReader = credentialReader;
