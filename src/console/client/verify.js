// The page /verify: computes the SHA-256 of a file here, looks for its manifest, and asks the gateway about the SHA-256. The file is not sent anywhere.

/** Defined by credentials.js, which the page loads before this script. @type {(type: string) => { push(bytes: Uint8Array): void, readonly place?: { start: number, length: number } }} */
const credentialReader = Reflect.get(globalThis, "credentialReader");
const place = /** @type {HTMLElement} */ (document.querySelector("[data-verify]"));
const drop = /** @type {HTMLElement} */ (place.querySelector(".drop-big"));
const proof = /** @type {HTMLElement} */ (document.querySelector("#proof"));
const locale = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;

/** Media types by the first bytes; a name or label may be wrong. @type {[string, number, string][]} */
const signatures = [
  ["image/png", 0, "\u0089PNG"],
  ["image/jpeg", 0, "\u00ff\u00d8\u00ff"],
  ["image/webp", 8, "WEBP"],
  ["video/mp4", 4, "ftyp"],
];

/** @param {Uint8Array} bytes */
const detectType = (bytes) => {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  return signatures.find(([, at, letters]) => head.startsWith(letters, at))?.[0] ?? "";
};

/** True if the manifest says that a model made the file. Other parts of the file may have any words. @param {Uint8Array} bytes @param {{ start: number, length: number }} place */
function saysModel(bytes, { start, length }) {
  // In a JPEG each 64 KB of a manifest have the head of a segment between them.
  const end = start + length + 20 * Math.ceil(length / 60_000);
  return /digitalSourceType[^]{1,80}rainedAlgorithmicMedia/.test(new TextDecoder("latin1").decode(bytes.subarray(start, end)));
}

/** What the file itself says: its SHA-256, and its manifest's word that a model made it. @param {ArrayBuffer} buffer */
async function examine(buffer) {
  const bytes = new Uint8Array(buffer);
  const reader = credentialReader(detectType(bytes));
  reader.push(bytes);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const { place } = reader;
  return { sha256, found: place !== undefined, byModel: place !== undefined && saysModel(bytes, place) };
}

/** The size with its unit. @param {number} bytes */
function size(bytes) {
  const [value, unit] = bytes < 1e6 ? [Math.ceil(bytes / 1e3), "KB"] : [bytes / 1e6, "MB"];
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(value)} ${unit}`;
}

/** A time in words, UTC. @param {number} seconds */
const words = (seconds) =>
  `${new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }).format(seconds * 1000)} UTC`;

/** Shows the answer from the template of this name, without the lines that do not hold. @param {string} name @param {Set<string>} holds @param {Record<string, string>} texts @param {File} [file] */
function show(name, holds, texts, file) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(`verify-${name}`));
  const part = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  for (const line of part.querySelectorAll("[data-if]")) if (!holds.has(line.getAttribute("data-if") ?? "")) line.remove();
  for (const slot of part.querySelectorAll("[data-slot]")) slot.textContent = texts[slot.getAttribute("data-slot") ?? ""] ?? "";
  for (const code of part.querySelectorAll("pre code"))
    code.textContent = (code.textContent ?? "").replace("SHA256", texts["sha256"] ?? "");
  for (const button of part.querySelectorAll("button[data-copy]")) button.removeAttribute("hidden");
  const preview = part.querySelector("img[data-preview]");
  if (preview instanceof HTMLImageElement && file && holds.has("image")) {
    preview.src = URL.createObjectURL(file);
    preview.addEventListener("load", () => URL.revokeObjectURL(preview.src));
  }
  proof.replaceChildren(part);
  proof.hidden = false;
}

/** The latest file: an answer for an earlier one is not shown. */
let latest = 0;

/** @param {File} file */
async function verify(file) {
  const turn = ++latest;
  const texts = { name: file.name, size: size(file.size) };
  drop.classList.add("busy");
  drop.setAttribute("aria-busy", "true");
  try {
    const buffer = await file.arrayBuffer();
    const { sha256, found, byModel } = await examine(buffer);
    const isImage = detectType(new Uint8Array(buffer, 0, Math.min(12, buffer.byteLength))).startsWith("image/");
    const holds = new Set([found ? "found" : "missing", ...(byModel ? ["model"] : []), isImage ? "image" : "video"]);
    const answer = await fetch(`/v1/verify/${sha256}`, { headers: { accept: "application/json" } });
    if (turn !== latest) return;
    if (answer.status === 404) return show("unknown", holds, { ...texts, sha256 }, file);
    if (!answer.ok) return show(answer.status === 429 ? "busy" : "failed", holds, texts);
    const { made_at: madeAt, credentials } = await answer.json();
    holds.add(credentials);
    show("made", holds, { ...texts, sha256, when: words(madeAt) }, file);
  } catch {
    if (turn === latest) show("failed", new Set(), texts);
  } finally {
    if (turn === latest) {
      drop.classList.remove("busy");
      drop.removeAttribute("aria-busy");
    }
  }
}

drop.hidden = false;

drop.querySelector("input")?.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement)) return;
  const [file] = target.files ?? [];
  if (file) void verify(file);
  // The same file may be chosen again.
  target.value = "";
});

for (const name of ["dragenter", "dragover", "dragleave", "drop"])
  document.addEventListener(name, (event) => {
    if (!(event instanceof DragEvent) || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    drop.classList.toggle("over", name === "dragenter" || name === "dragover");
    const [file] = name === "drop" ? event.dataTransfer.files : [];
    if (file) void verify(file);
  });
