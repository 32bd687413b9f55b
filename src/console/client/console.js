// Script of all pages, which also work without it. Elements select behaviour by data attributes.

/** The text of an element. In it `<span data-whole="id">` stands for the text of another element, of which it shows a part. @param {Element | null} source */
function wholeText(source) {
  if (!source?.querySelector("[data-whole]")) return source?.textContent ?? "";
  const copy = source.cloneNode(true);
  if (!(copy instanceof Element)) return "";
  for (const part of copy.querySelectorAll("[data-whole]"))
    part.textContent = document.getElementById(part.getAttribute("data-whole") ?? "")?.textContent ?? "";
  return copy.textContent;
}

/** `<button data-copy="id">`: copies the text of that element to the clipboard. Shown only with script. */
document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("button[data-copy]") : null;
  if (!(button instanceof HTMLButtonElement)) return;
  const source = document.getElementById(button.dataset["copy"] ?? "");
  const text = source instanceof HTMLTextAreaElement ? source.value : wholeText(source);
  void navigator.clipboard.writeText(text).then(() => toast(button.dataset["copied"] ?? ""));
});

/** Shows a message for five seconds. @param {string} text */
function toast(text) {
  const box = show(text);
  setTimeout(() => box.remove(), toastMs);
}

/** Shows a message until it is removed. @param {string} text */
function show(text) {
  const box = document.createElement("div");
  box.className = "toast";
  const words = document.createElement("span");
  words.textContent = text;
  box.append(words);
  document.querySelector(".toasts")?.append(box);
  return box;
}

const toastMs = 5_000;
for (const box of document.querySelectorAll("[data-toast]")) setTimeout(() => box.remove(), toastMs);

/** Moves the focus to a form's error message. @param {ParentNode} root */
const focusProblem = (root) => {
  const problem = root.querySelector("[data-focus]");
  if (problem instanceof HTMLElement) problem.focus();
};

/** Shows elements that need script. @param {ParentNode} root */
const reveal = (root) => {
  for (const part of root.querySelectorAll("button[data-copy][hidden], [data-filter][hidden]")) part.removeAttribute("hidden");
};

/** `<input data-filter="id">`: shows only the labels in that element that contain the typed text, and those that are checked. */
document.addEventListener("input", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.dataset["filter"] === undefined) return;
  const text = target.value.trim().toLowerCase();
  for (const label of document.getElementById(target.dataset["filter"])?.querySelectorAll("label") ?? [])
    label.hidden = !label.textContent.toLowerCase().includes(text) && !label.querySelector(":checked");
});

const language = document.documentElement.lang;
const locale = language === "en" ? "en-GB" : language;
const relative = new Intl.RelativeTimeFormat(locale, { style: "short", numeric: "auto" });

/** With a space between a number and its Chinese unit, as in all other texts. @param {string} text */
const spaced = (text) => text.replace(/\d(?=\p{Script=Han})/u, "$& ");

/** Shows times relative to now and in the user's time zone. @param {ParentNode} root */
function tell(root) {
  for (const time of root.querySelectorAll("time[data-relative]")) {
    if (!(time instanceof HTMLTimeElement)) continue;
    const at = Date.parse(time.dateTime);
    const minutes = Math.round((at - Date.now()) / 60_000);
    const text =
      minutes === 0
        ? relative.format(0, "second")
        : Math.abs(minutes) < 60
          ? spaced(relative.format(minutes, "minute"))
          : Math.abs(minutes) <= 1440
            ? spaced(relative.format(Math.trunc(minutes / 60), "hour"))
            : toDate(at);
    if (time.textContent !== text) time.textContent = text;
  }
}

const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** Shows clock times in the user's time zone. @param {ParentNode} root */
function localize(root) {
  for (const time of root.querySelectorAll("time[data-clock]"))
    if (time instanceof HTMLTimeElement) time.textContent = clock.format(Date.parse(time.dateTime));
}

/** @param {number} at */
const toDate = (at) =>
  new Intl.DateTimeFormat(locale, {
    day: "numeric",
    month: "short",
    ...(new Date(at).getFullYear() !== new Date().getFullYear() && { year: "numeric" }),
  }).format(at);

/** @param {ParentNode} root */
function prepare(root) {
  reveal(root);
  tell(root);
  localize(root);
}

prepare(document);
focusProblem(document);
setInterval(() => tell(document), 30_000);
document.addEventListener("htmx:after:swap", () => {
  prepare(document);
});

// Live parts refresh themselves. If the gateway does not answer, one message is shown until it answers again.
/** @type {HTMLElement | undefined} */
let lost;
document.addEventListener("htmx:error", ({ detail }) => {
  if (!detail.ctx || detail.ctx.response) return;
  lost ??= show(document.querySelector(".toasts")?.getAttribute("data-lost") ?? "");
  lost.classList.add("stays");
});
const forget = () => {
  lost?.remove();
  lost = undefined;
};
document.addEventListener("htmx:after:request", forget);
// What was said about the form before.
document.addEventListener(
  "submit",
  () => {
    forget();
    document.getElementById("refused")?.replaceChildren();
  },
  { capture: true },
);

// A page in the background does not refresh, and a run only now and then, for its tab; both do as soon as the page is visible again.
const hiddenRunMs = 10_000;
let refreshedAt = 0;
document.addEventListener("htmx:config:request", (event) => {
  if (!document.hidden || !(event.target instanceof Element) || !event.target.matches("[hx-trigger^=every]")) return;
  if (event.target.querySelector("progress[data-tab]") && Date.now() - refreshedAt >= hiddenRunMs) refreshedAt = Date.now();
  else event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) for (const part of document.querySelectorAll("[hx-trigger^=every]")) part.dispatchEvent(new Event("every"));
});

// Enter in a filter would submit the form around it.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target instanceof Element && event.target.matches("[data-filter]")) event.preventDefault();
});

/** A submitted form shows its progress on the button; returning to the page by "back" resets it. */
document.addEventListener("submit", (event) => {
  const { submitter, defaultPrevented } = event;
  // A download does not leave the page.
  if (defaultPrevented || !(submitter instanceof HTMLButtonElement) || submitter.hasAttribute("data-stay")) return;
  // Runs after the browser has collected the form's values: a disabled button would send none.
  setTimeout(() => {
    if (!event.defaultPrevented) submitter.setAttribute("aria-busy", "true");
  });
});
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
});

// Cancels requests of live parts when a page is left: requests cut off by the browser would be errors in its console.
addEventListener("pagehide", () => {
  for (const part of document.querySelectorAll("[data-htmx-powered]")) part.dispatchEvent(new Event("htmx:abort"));
});

/** Choosing a language in one block of code selects it in all, also on the next page. @param {string} language */
function chooseCode(language) {
  for (const input of document.querySelectorAll(".lang input"))
    if (input instanceof HTMLInputElement && input.value === language) input.checked = true;
}

chooseCode(localStorage.getItem("code-language") ?? "");
document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.closest(".lang")) return;
  chooseCode(target.value);
  localStorage.setItem("code-language", target.value);
});

/** The words for a field that the browser refuses; its own where the page has none. @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} field */
function wordsFor(field) {
  const { dataset } = document.querySelector(".toasts") ?? document.body;
  const { valueMissing, typeMismatch, tooShort } = field.validity;
  if (valueMissing) return dataset["missing"] ?? field.validationMessage;
  if (typeMismatch) return dataset[field.type] ?? field.validationMessage;
  if (tooShort) return (dataset["minimum"] ?? field.validationMessage).replace("#", field.getAttribute("minlength") ?? "");
  return field.validationMessage;
}

/** Shows an error below a field as the server's answer would, in place of the browser's bubble. */
document.addEventListener(
  "invalid",
  (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement || field instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    for (const fold of document.querySelectorAll("details:not([open])")) if (fold.contains(field)) fold.setAttribute("open", "");
    const id = `${field.id || field.name}-invalid`;
    let words = document.getElementById(id);
    if (!words) {
      words = document.createElement("p");
      words.className = "err";
      words.id = id;
      const around = field.closest(".field");
      if (around) around.append(words);
      else field.after(words);
      field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${id}`.trim());
    }
    words.textContent = wordsFor(field);
    field.setAttribute("aria-invalid", "true");
    if (field.form?.querySelector("input:invalid, select:invalid, textarea:invalid") === field) field.focus();
  },
  true,
);

/** Takes the error away as soon as the field is right. */
document.addEventListener("input", ({ target }) => {
  if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement)) return;
  const words = document.getElementById(`${target.id || target.name}-invalid`);
  if (!words || !target.validity.valid) return;
  words.remove();
  target.removeAttribute("aria-invalid");
  const others = (target.getAttribute("aria-describedby") ?? "").split(" ").filter((one) => one !== words.id && one !== "");
  if (others.length > 0) target.setAttribute("aria-describedby", others.join(" "));
  else target.removeAttribute("aria-describedby");
});

/** `<form data-into="id">`: its answer is put into that element, in place of a new page. */
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.dataset["into"] === undefined || event.defaultPrevented) return;
  event.preventDefault();
  const place = document.getElementById(form.dataset["into"]);
  const button = event.submitter;
  if (button?.getAttribute("aria-busy") === "true") return;
  button?.setAttribute("aria-busy", "true");
  const body = new URLSearchParams([...new FormData(form)].flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])));
  void fetch(form.action, { method: "POST", headers: { "hx-request": "true" }, body })
    .then(async (answer) => {
      const text = await answer.text();
      const refused = document.getElementById("refused");
      if (!answer.ok && refused) refused.outerHTML = text;
      else if (place) place.innerHTML = text;
    })
    .catch(() => toast(document.querySelector(".toasts")?.getAttribute("data-lost") ?? ""))
    .finally(() => button?.removeAttribute("aria-busy"));
});

/** Opens the palette of the page's search link, whose script is loaded then. Returns false if the page has none. */
function openPalette() {
  const find = document.querySelector("a[data-palette]");
  if (!(find instanceof HTMLAnchorElement)) return false;
  void import(find.dataset["palette"] ?? "").then(() => find.dispatchEvent(new Event("palette", { bubbles: true })));
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && openPalette())
    event.preventDefault();
});
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-palette]") : null;
  if (link && !event.ctrlKey && !event.metaKey && openPalette()) event.preventDefault();
});

/** The slash key focuses the search field of a list, or else opens the palette, unless the user is typing. */
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.closest("input:not([type=checkbox]), textarea, select, dialog")) return;
  const search = document.querySelector("[data-slash]");
  if (search instanceof HTMLElement) {
    event.preventDefault();
    search.focus();
  } else if (openPalette()) event.preventDefault();
});

// A link with `data-key` is followed by that key, unless something is typed or open above the page.
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target instanceof Element && event.target.closest("input, textarea, select, pre, [popover], dialog")) return;
  if (document.querySelector("dialog[open], [popover]:popover-open")) return;
  const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (link instanceof HTMLElement) link.click();
});

/** Tabs and filters on a phone, and earlier runs, go on beside the window: the chosen one is in it. */
for (const link of document.querySelectorAll(":is(.tabs, nav.chips, .strip) > [aria-current]")) {
  const box = link.parentElement;
  if (box && link instanceof HTMLElement) box.scrollLeft = link.offsetLeft - box.offsetLeft - (box.clientWidth - link.clientWidth) / 2;
}

/** The contents of the documentation go on below the window: they begin at the page that is open. */
for (const link of document.querySelectorAll(".docs > nav [aria-current]")) {
  const box = link.closest("nav");
  if (box && link instanceof HTMLElement) box.scrollTop = link.offsetTop - box.offsetTop - box.clientHeight / 2;
}
