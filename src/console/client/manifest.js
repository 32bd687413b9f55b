// Reads a file's C2PA manifest: who signed it, when, and whether it says that a model made the file. Signatures and hashes are not checked.

/** Defined by credentials.js, which pages load before this script. @type {(type: string) => { push(bytes: Uint8Array): void, readonly place?: { start: number, length: number } }} */
const credentialReader = Reflect.get(globalThis, "credentialReader");

/** Media types by the first bytes; a name or label may be wrong. @type {[string, number, string][]} */
const signatures = [
  ["image/png", 0, "\u0089PNG"],
  ["image/jpeg", 0, "\u00ff\u00d8\u00ff"],
  ["image/webp", 8, "WEBP"],
  ["video/mp4", 4, "ftyp"],
];

/** A letter for each byte. Not by a `TextDecoder`, whose "latin1" is Windows-1252. @param {Uint8Array} bytes */
const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

/** @param {Uint8Array} bytes */
const detectType = (bytes) => {
  const head = latin(bytes.subarray(0, 12));
  return signatures.find(([, at, letters]) => head.startsWith(letters, at))?.[0] ?? "";
};

/** @param {Uint8Array} bytes @param {number} at */
const uint32 = (bytes, at) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at);

/** The manifest's bytes. A JPEG has them in several segments, which repeat the head of the box (ISO/IEC 19566-5, D.2). @param {Uint8Array} bytes @param {string} type @param {{ start: number, length: number }} place */
function collect(bytes, type, { start, length }) {
  if (type !== "image/jpeg") return bytes.subarray(start, start + length);
  const whole = new Uint8Array(Math.min(length, bytes.length));
  let filled = 0;
  // Marker, length, identifier, number of the box and of the packet stand before the first part.
  for (let at = start - 12, head = 12; filled < whole.length && bytes[at] === 0xff && bytes[at + 1] === 0xeb; head = 20) {
    const end = at + 2 + ((bytes[at + 2] ?? 0) << 8) + (bytes[at + 3] ?? 0);
    const part = bytes.subarray(at + head, Math.min(end, at + head + whole.length - filled));
    whole.set(part, filled);
    filled += part.length;
    at = end;
  }
  return whole.subarray(0, filled);
}

/** The boxes in these bytes, as type and content. @param {Uint8Array} bytes @returns {{ type: string, content: Uint8Array }[]} */
function boxes(bytes) {
  const found = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    const size = uint32(bytes, at);
    if (size < 8 || at + size > bytes.length) break;
    found.push({ type: latin(bytes.subarray(at + 4, at + 8)), content: bytes.subarray(at + 8, at + size) });
    at += size;
  }
  return found;
}

/** The superboxes in a superbox, with their kind (four letters), label and content. @param {Uint8Array} content */
const superboxes = (content) =>
  boxes(content)
    .filter(({ type }) => type === "jumb")
    .map(({ content: inside }) => {
      const description = boxes(inside)[0]?.content ?? new Uint8Array();
      return { kind: latin(description.subarray(0, 4)), label: latin(description.subarray(17)).split("\0")[0] ?? "", inside };
    });

/** The value in a superbox's CBOR box. @param {Uint8Array} inside */
const cborIn = (inside) => {
  const box = boxes(inside).find(({ type }) => type === "cbor");
  return box && decodeCbor(box.content);
};

/** Decodes CBOR (RFC 8949): maps become `Map`, tags are left out. Throws for bytes that are not CBOR. @param {Uint8Array} bytes */
function decodeCbor(bytes) {
  let at = 0;
  const stop = Symbol("the end of an item without a length");
  const isBroken = () => new RangeError("not CBOR");
  /** @param {number} count */
  const take = (count) => {
    if (at + count > bytes.length) throw isBroken();
    return bytes.subarray(at, (at += count));
  };
  /** @param {number} depth @returns {any} */
  const item = (depth) => {
    if (depth > 32) throw isBroken();
    const first = take(1)[0] ?? 0;
    const major = first >> 5;
    const short = first & 31;
    let count = short;
    if (short >= 24 && short <= 27) count = take(2 ** (short - 24)).reduce((sum, byte) => sum * 256 + byte, 0);
    else if (short === 31) count = Infinity;
    else if (short > 27) throw isBroken();
    const items = () => {
      const list = [];
      for (let next; list.length < count; list.push(next)) if ((next = item(depth + 1)) === stop) break;
      return list;
    };
    switch (major) {
      case 0:
        return count;
      case 1:
        return -1 - count;
      case 2:
      case 3: {
        const parts = count === Infinity ? items() : [take(count)];
        if (major === 3) return parts.map((part) => (typeof part === "string" ? part : new TextDecoder().decode(part))).join("");
        return Uint8Array.from(parts.flatMap((part) => [...part]));
      }
      case 4:
        return items();
      case 5: {
        const map = new Map();
        for (let entries = 0; entries < count; entries++) {
          const name = item(depth + 1);
          if (name === stop) break;
          map.set(name, item(depth + 1));
        }
        return map;
      }
      case 6:
        return item(depth + 1);
      default:
        return short === 31 ? stop : { 20: false, 21: true }[short];
    }
  };
  return item(0);
}

/** The parts of a DER value (ITU-T X.690) with their tags. @param {Uint8Array} bytes @returns {{ tag: number, value: Uint8Array }[]} */
function der(bytes) {
  const parts = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const tag = bytes[at] ?? 0;
    let length = bytes[at + 1] ?? 0;
    at += 2;
    if (length > 0x80 && length <= 0x84) {
      const digits = length - 0x80;
      length = bytes.subarray(at, at + digits).reduce((sum, byte) => sum * 256 + byte, 0);
      at += digits;
    }
    if (at + length > bytes.length) break;
    parts.push({ tag, value: bytes.subarray(at, at + length) });
    at += length;
  }
  return parts;
}

const organization = "\u0055\u0004\u000a";
const commonName = "\u0055\u0004\u0003";

/** The organization of a certificate's subject, or its common name. @param {Uint8Array} certificate */
function subjectName(certificate) {
  const signed = der(der(certificate)[0]?.value ?? new Uint8Array())[0]?.value ?? new Uint8Array();
  const fields = der(signed);
  // The version may be left out; then come serial number, algorithm, issuer, validity and subject (RFC 5280, 4.1).
  const subject = fields[fields[0]?.tag === 0xa0 ? 5 : 4]?.value ?? new Uint8Array();
  const names = der(subject).flatMap(({ value }) =>
    der(value).map((pair) => {
      const [type, text] = der(pair.value);
      const encoding = text?.tag === 0x0c ? "utf-8" : text?.tag === 0x1e ? "utf-16be" : "latin1";
      return { type: latin(type?.value ?? new Uint8Array()), text: new TextDecoder(encoding).decode(text?.value) };
    }),
  );
  return [organization, commonName].map((wanted) => names.find(({ type }) => type === wanted)?.text).find(Boolean);
}

/** The object identifier of the content of a time stamp (RFC 3161, 2.4.2). */
const stampContent = "\u0006\u000b\u002a\u0086\u0048\u0086\u00f7\u000d\u0001\u0009\u0010\u0001\u0004";

/** The time in a time stamp, in milliseconds. @param {Uint8Array} token */
function stampedTime(token) {
  const at = latin(token).indexOf(stampContent);
  if (at < 0) return undefined;
  const [content] = der(token.subarray(at + stampContent.length));
  const [info] = der(der(content?.value ?? new Uint8Array())[0]?.value ?? new Uint8Array());
  const text = latin(der(info?.value ?? new Uint8Array()).find(({ tag }) => tag === 0x18)?.value ?? new Uint8Array());
  return toTime(text.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/, "$1-$2-$3T$4:$5:$6"));
}

/** Milliseconds since the epoch; undefined for other texts. @param {unknown} text */
function toTime(text) {
  const time = typeof text === "string" ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** @param {unknown} value @param {string | number} name @returns {any} */
const field = (value, name) => (value instanceof Map ? value.get(name) : undefined);

/** What the active manifest says, which is the last one of the store (C2PA 2.2, 11.1.4.2). @param {Uint8Array} store */
function readActive(store) {
  const active = superboxes(boxes(store)[0]?.content ?? new Uint8Array()).at(-1);
  const parts = active ? superboxes(active.inside) : [];
  const signature = cborIn(parts.find(({ kind }) => kind === "c2cs")?.inside ?? new Uint8Array());
  const [protectedBytes, open] = Array.isArray(signature) ? signature : [];
  const chain = field(protectedBytes && decodeCbor(protectedBytes), 33) ?? field(open, 33) ?? field(open, "x5chain");
  const certificate = Array.isArray(chain) ? chain[0] : chain;
  const signer = certificate instanceof Uint8Array ? subjectName(certificate) : undefined;
  const stamp = field((field(field(open, "sigTst2") ?? field(open, "sigTst"), "tstTokens") ?? [])[0], "val");
  const stamped = stamp instanceof Uint8Array ? stampedTime(stamp) : undefined;
  if (stamped !== undefined) return { signer, time: stamped, isStamped: true };
  const actions = superboxes(parts.find(({ kind }) => kind === "c2as")?.inside ?? new Uint8Array())
    .filter(({ label }) => label.startsWith("c2pa.actions"))
    .flatMap(({ inside }) => field(cborIn(inside), "actions") ?? []);
  return { signer, time: actions.map((action) => toTime(field(action, "when"))).find((time) => time !== undefined), isStamped: false };
}

/** What a file itself says. `signer` is the name in its certificate; `time` (milliseconds) is of a time stamp, or what the signer states. @param {ArrayBuffer} buffer @returns {Promise<{ type: string, sha256: string, found: boolean, byModel: boolean, signer?: string, time?: number, isStamped?: boolean }>} */
async function examineFile(buffer) {
  const bytes = new Uint8Array(buffer);
  const type = detectType(bytes);
  const reader = credentialReader(type);
  reader.push(bytes);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const { place } = reader;
  if (!place) return { type, sha256, found: false, byModel: false };
  const store = collect(bytes, type, place);
  const byModel = /digitalSourceType[^]{1,80}rainedAlgorithmicMedia/.test(latin(store));
  try {
    return { type, sha256, found: true, byModel, ...readActive(store) };
  } catch {
    return { type, sha256, found: true, byModel };
  }
}

Object.assign(globalThis, { examineFile });
