// The text of a model's entry: its line numbers follow what is typed, and a link to a line selects it.

/** @param {HTMLOListElement} list @param {HTMLTextAreaElement} text */
function number(list, text) {
  const lines = text.value.split("\n").length;
  while (list.children.length > lines) list.lastElementChild?.remove();
  while (list.children.length < lines) {
    const item = document.createElement("li");
    item.id = `l${list.children.length + 1}`;
    item.textContent = String(list.children.length + 1);
    list.append(item);
  }
  text.rows = lines;
}

for (const list of document.querySelectorAll("ol[data-lines]")) {
  const text = document.getElementById(list.getAttribute("data-lines") ?? "");
  if (!(list instanceof HTMLOListElement) || !(text instanceof HTMLTextAreaElement)) continue;
  text.addEventListener("input", () => number(list, text));
  // "Back" brings the typed text with the numbers of the text before.
  number(list, text);
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href^='#l']") : null;
    const line = Number(link?.getAttribute("href")?.slice(2));
    if (!line) return;
    const before = text.value.split("\n").slice(0, line - 1);
    const start = before.join("\n").length + (line > 1 ? 1 : 0);
    const end = text.value.indexOf("\n", start);
    text.focus({ preventScroll: true });
    text.setSelectionRange(start, end < 0 ? text.value.length : end);
  });
}
