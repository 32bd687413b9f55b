// Script of the playground's tray: images are chosen, dropped, pasted, named by a URL, or taken from the gallery and the account's files.

const tray = () => document.querySelector("#tray");
const more = () => /** @type {HTMLElement | null} */ (document.querySelector("#tray-more"));
const items = () => [...(tray()?.querySelectorAll("li:not(.drop)") ?? [])];

/** @param {string} text */
function report(text) {
  const problem = document.querySelector("#tray-problem");
  if (!(problem instanceof HTMLElement)) return;
  problem.textContent = text;
  problem.hidden = text === "";
}

/** The roles that the model supports: pairs of value and label. */
const roles = () => (more()?.dataset["roles"] ?? "").split("|").flatMap((pair) => (pair === "" ? [] : [pair.split("=")]));

/** The role of a new image: `reference` if another image has it, else the first that is not used. */
function nextRole() {
  const used = new Set(items().map((item) => item.querySelector("select")?.value));
  const names = roles().map(([value]) => value);
  if (used.has("reference")) return "reference";
  return names.find((name) => name === "reference" || !used.has(name)) ?? names.at(-1);
}

let number = 100;

/** Adds an item and gives it to `fill`. @param {(item: Element, number: number) => void} fill */
function add(fill) {
  const template = document.querySelector("#tray-item");
  const list = tray();
  const most = Number(more()?.dataset["most"]);
  if (!(template instanceof HTMLTemplateElement) || !list) return false;
  if (items().length >= most) {
    report(more()?.dataset["tooMany"] ?? "");
    return false;
  }
  report("");
  const holder = document.createElement("template");
  holder.innerHTML = template.innerHTML.replaceAll("NUMBER", String(++number));
  const item = holder.content.firstElementChild;
  if (!item) return false;
  const role = nextRole();
  fill(item, number);
  const select = item.querySelector("select");
  if (select && role) select.value = role;
  list.insertBefore(item, list.querySelector(".drop"));
  list.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

/** @param {Element} item @param {string} source @param {string} name */
function showImage(item, source, name) {
  const image = new Image();
  image.src = source;
  image.alt = name;
  item.querySelector(".shot")?.replaceChildren(image);
  const remove = item.querySelector("[data-remove]");
  remove?.setAttribute("aria-label", `${remove.getAttribute("aria-label")}: ${name}`);
}

/** @param {Element} item @param {string} name @param {string} value */
function setValue(item, name, value) {
  const input = item.querySelector(`input[name$=".${name}"]`);
  if (input instanceof HTMLInputElement) input.value = value;
}

/** Adds files; each gets a separate input. @param {Iterable<File>} files */
function addFiles(files) {
  for (const file of files) {
    const { notImage = "", tooLarge = "", maxBytes } = more()?.dataset ?? {};
    if (!/^image\/(png|jpeg|webp)$/.test(file.type)) report(notImage);
    else if (file.size > Number(maxBytes)) report(tooLarge);
    else
      add((item, at) => {
        const list = new DataTransfer();
        list.items.add(file);
        const input = document.createElement("input");
        Object.assign(input, { type: "file", name: `pictures.${at}`, hidden: true, files: list.files });
        const name = document.createElement("input");
        Object.assign(name, { type: "hidden", name: `pictures.${at}.name`, value: file.name });
        item.append(input, name);
        showImage(item, URL.createObjectURL(file), file.name);
      });
  }
}

/** Adds an image by its URL, which is not loaded: pages load nothing from other hosts. Images of the account's files are. */
function addUrl() {
  const input = document.querySelector("#tray-url");
  if (!(input instanceof HTMLInputElement) || input.value === "" || !input.reportValidity()) return;
  const url = input.value;
  const isAdded = add((item) => {
    setValue(item, "url", url);
    const host = item.querySelector(".clip");
    if (url.startsWith("file_")) showImage(item, `/console/files/${url}/content`, url);
    else if (host) host.textContent = URL.parse(url)?.host ?? url;
  });
  if (isAdded) input.value = "";
}

/** Shows the roles of another model; if it has no tray, its images are hidden. */
function adapt() {
  more()?.removeAttribute("hidden");
  const known = roles();
  for (const item of items()) {
    const select = item.querySelector("select");
    const at = item.querySelector("input[name]")?.getAttribute("name")?.split(".")[1];
    const chosen = select?.value;
    if (known.length === 0) select?.remove();
    else {
      const fresh = select ?? document.createElement("select");
      const label = document.querySelector("#tray-item")?.innerHTML.match(/aria-label="([^"]*)"/)?.[1] ?? "";
      Object.assign(fresh, { className: "in", name: `pictures.${at}.role`, ariaLabel: label });
      fresh.replaceChildren(...known.map(([value = "", word = ""]) => new Option(word, value)));
      if (chosen && known.some(([value]) => value === chosen)) fresh.value = chosen;
      if (!select) item.querySelector(".shot")?.after(fresh);
    }
  }
}

document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !("picker" in target.dataset)) return;
  addFiles(target.files ?? []);
  target.value = "";
});

document.addEventListener("click", (event) => {
  const { target } = event;
  if (!(target instanceof Element)) return;
  if (target.closest("[data-add-url]")) addUrl();
  const remove = target.closest("[data-remove]");
  if (remove) {
    const list = tray();
    remove.closest("li")?.remove();
    report("");
    list?.dispatchEvent(new Event("change", { bubbles: true }));
    list?.querySelector("input[data-picker]")?.focus();
  }
  const use = target.closest("[data-use]");
  if (!(use instanceof HTMLElement) || !more()) return;
  event.preventDefault();
  const from = use.dataset["use"] ?? "";
  const isFile = from.startsWith("file_");
  add((item) => {
    setValue(item, isFile ? "url" : "task", from);
    const shown = use.querySelector("img") ?? use.closest("figure")?.querySelector("img");
    showImage(item, isFile ? `/console/files/${from}/content` : `/console/playground/picture/${from}`, shown?.alt ?? "");
  });
  const sheet = document.querySelector("#pictures:popover-open");
  if (sheet instanceof HTMLElement) sheet.hidePopover();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.target instanceof Element) || event.target.id !== "tray-url") return;
  event.preventDefault();
  addUrl();
});

document.addEventListener("paste", ({ target, clipboardData }) => {
  const files = [...(clipboardData?.files ?? [])];
  if (files.length > 0 && more() && target instanceof Element && (target === document.body || target.closest("#form"))) addFiles(files);
});

for (const name of ["dragenter", "dragover", "dragleave", "drop"])
  document.addEventListener(name, (event) => {
    if (!(event instanceof DragEvent) || !(event.target instanceof Element) || !event.target.closest("#form") || !more()) return;
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    tray()
      ?.querySelector(".drop")
      ?.classList.toggle("over", name === "dragenter" || name === "dragover");
    if (name === "drop") addFiles(event.dataTransfer.files);
  });

document.addEventListener("htmx:after:swap", adapt);
adapt();
