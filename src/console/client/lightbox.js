// The gallery's lightbox: a tile opens in full; arrows go to the next image or task, Escape closes. Without script, tiles lead to the task's page.

const dialog = document.getElementById("light");
const tiles = () => [...document.querySelectorAll("a[data-open]")].filter((tile) => tile instanceof HTMLAnchorElement);

/** The id of the displayed task, because tiles are replaced while tasks run. */
let current = "";
/** @type {AbortController | undefined} */
let asked;

const shots = () => [...(dialog?.querySelectorAll("[data-shot]") ?? [])].filter((shot) => shot instanceof HTMLElement);

/** Shows the image at this place, from 0. @param {number} at */
function showShot(at) {
  for (const [place, shot] of shots().entries()) shot.hidden = place !== at;
  const number = dialog?.querySelector("[data-place]");
  if (number) number.textContent = String(at + 1);
  const open = tiles();
  const tile = open.findIndex((one) => one.pathname === current);
  const [previous, next] = [dialog?.querySelector(".prev"), dialog?.querySelector(".next")];
  if (previous instanceof HTMLButtonElement) previous.hidden = at === 0 && tile <= 0;
  if (next instanceof HTMLButtonElement) next.hidden = at === shots().length - 1 && tile === open.length - 1;
}

/** Opens a tile's task, at its last image if `fromEnd`. @param {HTMLAnchorElement} tile @param {boolean} [fromEnd] */
async function open(tile, fromEnd = false) {
  if (!(dialog instanceof HTMLDialogElement)) return;
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  const answer = await fetch(tile.getAttribute("data-open") ?? "", { signal, headers: { "hx-request": "true" } }).catch(() => undefined);
  if (signal.aborted) return;
  const text = answer?.ok ? await answer.text() : "";
  // The session has expired or there is no connection: the task's page shows which.
  if (text === "") return location.assign(tile.href);
  if (signal.aborted) return;
  dialog.innerHTML = text;
  current = tile.pathname;
  if (!dialog.open) dialog.showModal();
  const first = dialog.querySelector("[data-first]");
  if (first instanceof HTMLElement) first.focus();
  showShot(fromEnd ? shots().length - 1 : 0);
}

/** @param {number} by */
function step(by) {
  const at = shots().findIndex((shot) => !shot.hidden) + by;
  if (at >= 0 && at < shots().length) return showShot(at);
  const all = tiles();
  const next = all[all.findIndex((tile) => tile.pathname === current) + by];
  if (next) void open(next, by < 0);
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const tile = event.target.closest("a[data-open]");
  if (tile instanceof HTMLAnchorElement) {
    event.preventDefault();
    void open(tile);
    return;
  }
  const button = event.target.closest("#light [data-step]");
  if (button) step(Number(button.getAttribute("data-step")));
  // A click beside the image closes the lightbox.
  else if (event.target instanceof HTMLElement && event.target.matches("#light figure") && dialog instanceof HTMLDialogElement)
    dialog.close();
});

dialog?.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target instanceof HTMLVideoElement) return;
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  step(by);
});

// Stops the video when the dialog closes; the focus moves to the tile that was displayed last.
dialog?.addEventListener("close", () => {
  asked?.abort();
  dialog.replaceChildren();
  tiles()
    .find((tile) => tile.pathname === current)
    ?.focus();
});
