// Script of the playground: Ctrl+Enter runs, a run shows its result.

const form = () => document.querySelector("#form");

/** @param {string} name */
function openPane(name) {
  const tab = document.querySelector(`#tab-${name}`);
  if (tab instanceof HTMLInputElement) tab.checked = true;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(event.target instanceof Element)) return;
  if (!event.target.closest("#play")) return;
  event.preventDefault();
  const button = document.querySelector('#send, #run button[value="run"]');
  if (button instanceof HTMLButtonElement) button.click();
});

// Enter in a text input does not submit the form: only the button with the price does.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target instanceof HTMLInputElement && event.target.form === form()) event.preventDefault();
});

/** Shows the result of what is run, on phones also by scrolling there. @param {Event} event */
function showResult({ detail }) {
  const { ctx } = detail;
  if (ctx.sourceElement?.id !== "form" || ctx.request?.submitter?.value !== "run") return;
  if (ctx.hx?.retarget !== undefined) return;
  const unsent = document.querySelector("#unsent");
  if (ctx.hx?.reswap === "none") return unsent?.scrollIntoView({ block: "nearest" });
  unsent?.replaceChildren();
  for (const told of document.querySelectorAll("#form :is([data-focus], .err:not(#tray-problem))")) told.remove();
  for (const field of document.querySelectorAll("#form [aria-invalid]")) field.removeAttribute("aria-invalid");
  openPane("result");
  const out = document.querySelector("#out");
  if (out && out.getBoundingClientRect().top > innerHeight / 2) out.scrollIntoView({ block: "start" });
}

/** Moves the focus to the form's error. @param {Event} event */
function focusProblem({ detail }) {
  const problem = document.querySelector("#form [data-focus]");
  if (detail.ctx.hx?.retarget === "#form" && problem instanceof HTMLElement) problem.focus();
}

document.addEventListener("htmx:after:swap", (event) => {
  showResult(event);
  focusProblem(event);
});

// Shows an earlier run as a result, whatever pane is open.
document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("#strip a")) openPane("result");
});

/** A comparison has at most four models. @param {HTMLElement} list */
function limitChoices(list) {
  const boxes = [...list.querySelectorAll("input")];
  const isFull = boxes.filter((box) => box.checked).length >= Number(list.dataset["most"]);
  for (const box of boxes) box.disabled = isFull && !box.checked;
}
document.addEventListener("change", ({ target }) => {
  const list = target instanceof Element ? target.closest("fieldset[data-most]") : null;
  if (list instanceof HTMLElement) limitChoices(list);
});

/** On a page without htmx a second click would send the form twice. */
const secondClickMs = 10_000;
let sentAt = -Infinity;
document.addEventListener("submit", (event) => {
  if (!(event.target instanceof HTMLFormElement) || !("once" in event.target.dataset) || event.defaultPrevented) return;
  if (event.timeStamp - sentAt < secondClickMs) event.preventDefault();
  else sentAt = event.timeStamp;
});
