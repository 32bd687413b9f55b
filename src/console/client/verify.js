// The page /verify: computes the SHA-256 of a file here, reads its manifest, and asks the gateway about the SHA-256. The file is not sent anywhere.

/** Defined by manifest.js, which the page loads before this script. @type {(buffer: ArrayBuffer) => Promise<{ type: string, sha256: string, found: boolean, byModel: boolean, signer?: string, time?: number, isStamped?: boolean }>} */
const examineFile = Reflect.get(globalThis, "examineFile");
const place = /** @type {HTMLElement} */ (document.querySelector("[data-verify]"));
const drop = /** @type {HTMLElement} */ (place.querySelector(".drop-big"));
const proof = /** @type {HTMLElement} */ (document.querySelector("#proof"));
const locale = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;

/** The size with its unit. @param {number} bytes */
function size(bytes) {
  const [value, unit] = bytes < 1e6 ? [Math.ceil(bytes / 1e3), "KB"] : [bytes / 1e6, "MB"];
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(value)} ${unit}`;
}

/** A time in words, UTC. @param {number} ms */
const words = (ms) => `${new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }).format(ms)} UTC`;

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
  /** @type {Record<string, string>} */
  const texts = { name: file.name, size: size(file.size) };
  drop.classList.add("busy");
  drop.setAttribute("aria-busy", "true");
  try {
    const { type, sha256, found, byModel, signer, time, isStamped } = await examineFile(await file.arrayBuffer());
    const holds = new Set([found ? "found" : "missing", type.startsWith("image/") ? "image" : "video"]);
    if (byModel) holds.add("model");
    if (signer !== undefined) holds.add("signer");
    if (time !== undefined) holds.add(isStamped ? "stamped" : "stated");
    Object.assign(texts, { sha256, signer: signer ?? "", time: time === undefined ? "" : words(time) });
    const answer = await fetch(`/v1/verify/${sha256}`, { headers: { accept: "application/json" } });
    if (turn !== latest) return;
    if (answer.status === 404) return show("unknown", holds, texts, file);
    if (!answer.ok) return show(answer.status === 429 ? "busy" : "failed", holds, texts);
    const { made_at: madeAt, credentials } = await answer.json();
    holds.add(credentials);
    show("made", holds, { ...texts, when: words(madeAt * 1000) }, file);
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
