// Images in the playground's chat: chosen, pasted or dropped, scaled down here, and added to the form with the message.

const longestSide = 1_024;
const smallBytes = 200_000;

const list = () => /** @type {HTMLElement | null} */ (document.querySelector("#attached"));

/** @param {string} text */
function report(text) {
  const problem = document.querySelector("#attached-problem");
  if (!(problem instanceof HTMLElement)) return;
  problem.textContent = text;
  problem.hidden = text === "";
}

/** @param {Blob} blob @returns {Promise<string>} */
const toDataUri = (blob) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(typeof reader.result === "string" ? reader.result : ""));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("the file cannot be read")));
    reader.readAsDataURL(blob);
  });

/** The image as a data URI; large ones are scaled down to the size that models use. @param {File} file */
async function prepare(file) {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height));
  if (scale === 1 && file.size <= smallBytes) return toDataUri(file);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  const context = canvas.getContext("2d");
  if (!context) return toDataUri(file);
  // JPEG has no transparency.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.85));
  return toDataUri(blob ?? file);
}

let number = 100;

/** @param {Iterable<File>} files */
async function attach(files) {
  report("");
  for (const file of files) {
    const place = list();
    const template = document.querySelector("#attached-item");
    if (!place || !(template instanceof HTMLTemplateElement)) return;
    const { most, tooMany = "", notImage = "", alt = "" } = place.dataset;
    if (place.children.length >= Number(most)) return report(tooMany);
    const uri = /^image\/(png|jpeg|webp)$/.test(file.type) ? await prepare(file).catch(() => undefined) : undefined;
    if (uri === undefined) {
      report(notImage);
      continue;
    }
    const holder = document.createElement("template");
    holder.innerHTML = template.innerHTML.replaceAll("NUMBER", String(++number));
    const item = holder.content.firstElementChild;
    const input = item?.querySelector("input");
    if (!item || !input) return;
    input.value = uri;
    const image = new Image();
    Object.assign(image, { src: uri, alt: file.name || alt });
    item.prepend(image);
    item.querySelector("button")?.setAttribute("aria-label", `${item.querySelector("button")?.title}: ${file.name}`);
    list()?.append(item);
  }
}

document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !("attach" in target.dataset)) return;
  const files = [...(target.files ?? [])];
  target.value = "";
  void attach(files);
});

document.addEventListener("click", ({ target }) => {
  const remove = target instanceof Element ? target.closest("[data-detach]") : null;
  if (!remove) return;
  remove.closest("li")?.remove();
  report("");
  const line = document.querySelector("#f-say");
  if (line instanceof HTMLElement) line.focus();
});

document.addEventListener("paste", (event) => {
  const files = [...(event.clipboardData?.files ?? [])];
  if (files.length === 0 || !list() || !(event.target instanceof Element) || !event.target.closest("#composer")) return;
  event.preventDefault();
  void attach(files);
});

for (const name of ["dragenter", "dragover", "dragleave", "drop"])
  document.addEventListener(name, (event) => {
    if (!(event instanceof DragEvent) || !(event.target instanceof Element) || !event.target.closest("#play") || !list()) return;
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.querySelector("#composer")?.classList.toggle("over", name === "dragenter" || name === "dragover");
    if (name === "drop") void attach([...event.dataTransfer.files]);
  });
