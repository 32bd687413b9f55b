// The palette: a field over documentation, pages, own things and actions, which the server searches. Loaded when it is first opened.

const waitMs = 120;

/** @template {keyof HTMLElementTagNameMap} Name @param {Name} name @param {string} className */
function make(name, className) {
  const element = document.createElement(name);
  element.className = className;
  return element;
}

/** Keys with what they do. @param {[keys: string[], text: string][]} hints */
function makeHints(hints) {
  const foot = document.createElement("footer");
  for (const [keys, text] of hints) {
    const hint = document.createElement("span");
    for (const key of keys) hint.append(Object.assign(document.createElement("kbd"), { textContent: key }), " ");
    hint.append(text);
    foot.append(hint);
  }
  return foot;
}

/** @param {HTMLAnchorElement} find The link that stands for the field. */
function makePalette(find) {
  const { label = "", choose = "", go = "", tab = "" } = find.dataset;
  const dialog = make("dialog", "palette");
  dialog.setAttribute("aria-label", label);
  const head = document.createElement("header");
  const icon = find.querySelector("svg")?.cloneNode(true);
  const field = make("input", "");
  Object.assign(field, { type: "search", placeholder: label, autocomplete: "off", spellcheck: false, maxLength: 200 });
  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-hits",
    "aria-autocomplete": "list",
    "aria-label": label,
  }))
    field.setAttribute(name, value);
  const esc = Object.assign(document.createElement("kbd"), { textContent: "Esc" });
  if (icon) head.append(icon);
  head.append(field, esc);
  const list = document.createElement("div");
  dialog.append(
    head,
    list,
    makeHints([
      [["↑", "↓"], choose],
      [["↵"], go],
      [["Ctrl ↵"], tab],
    ]),
  );
  document.body.append(dialog);
  let asked = 0;

  const options = () => [...list.querySelectorAll("a")];

  /** @param {HTMLAnchorElement | undefined} option */
  function select(option) {
    for (const one of options()) one.setAttribute("aria-selected", String(one === option));
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  async function ask() {
    const mine = ++asked;
    const answer = await fetch(`${find.href}?q=${encodeURIComponent(field.value)}`, { headers: { "x-palette": "1" } }).catch(
      () => undefined,
    );
    // A later question is on its way.
    if (mine !== asked) return;
    if (answer?.redirected || answer?.status === 401) return location.assign(find.href);
    if (!answer?.ok) return;
    list.innerHTML = await answer.text();
    const hits = list.firstElementChild;
    hits?.setAttribute("id", "palette-hits");
    hits?.setAttribute("role", options().length > 0 ? "listbox" : "status");
    hits?.setAttribute("aria-label", label);
    for (const [at, group] of [...list.querySelectorAll("section")].entries()) {
      const title = group.querySelector("h2");
      if (title) title.id = `palette-group-${at}`;
      title?.setAttribute("role", "presentation");
      group.setAttribute("role", "group");
      group.setAttribute("aria-labelledby", `palette-group-${at}`);
    }
    for (const [at, option] of options().entries()) {
      option.id = `palette-hit-${at}`;
      option.setAttribute("role", "option");
      option.tabIndex = -1;
    }
    select(options()[0]);
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), waitMs);
  });
  field.addEventListener("keydown", (event) => {
    const all = options();
    const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      select(all.at((at + (event.key === "ArrowDown" ? 1 : -1)) % Math.max(1, all.length)));
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      const chosen = all[at];
      if (!chosen) return;
      if (event.ctrlKey || event.metaKey) return void open(chosen.href, "_blank");
      dialog.close();
      chosen.click();
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || (event.target instanceof Element && event.target.closest("a"))) dialog.close();
  });
  return () => {
    if (dialog.open) return dialog.close();
    field.value = "";
    dialog.showModal();
    field.focus();
    void ask();
  };
}

/** @type {(() => void) | undefined} */
let toggle;

/** Opens the palette, or closes it. */
document.addEventListener("palette", ({ target }) => {
  if (!(target instanceof HTMLAnchorElement)) return;
  toggle ??= makePalette(target);
  toggle();
});
