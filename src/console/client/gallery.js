// The gallery: selecting tiles, and videos that play under the pointer. The lightbox is in lightbox.js.

const form = document.getElementById("chosen");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** @returns {HTMLInputElement[]} */
const boxes = () => [...(form?.querySelectorAll("input[name=task]") ?? [])].filter((box) => box instanceof HTMLInputElement);

/** The ids of the selected tasks, kept here because the gallery's HTML is replaced while tasks run. @type {Set<string>} */
const chosen = new Set();

function showChosen() {
  for (const box of boxes()) box.checked = chosen.has(box.value);
  const count = form?.querySelector("[data-chosen]");
  const text = (count?.getAttribute("data-chosen") ?? "").replace("{count}", String(chosen.size));
  if (count && count.textContent !== text) count.textContent = chosen.size === 0 ? "" : text;
}

/** Reads the state of the checkboxes, also after "back". */
function readChosen() {
  chosen.clear();
  for (const box of boxes()) if (box.checked) chosen.add(box.value);
  showChosen();
}

/** The checkbox of the last click: a click with Shift selects all tiles between the two. @type {HTMLInputElement | undefined} */
let last;

form?.addEventListener("click", (event) => {
  const { target } = event;
  if (!(target instanceof Element)) return;
  if (target instanceof HTMLInputElement && target.name === "task") {
    const all = boxes();
    const [from, to] = [last ? all.indexOf(last) : -1, all.indexOf(target)];
    if (event instanceof MouseEvent && event.shiftKey && from >= 0)
      for (const box of all.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked = target.checked;
    last = target;
    readChosen();
    return;
  }
  const link = target.closest("[data-choose]");
  if (!link) return;
  event.preventDefault();
  for (const box of boxes()) box.checked = link.getAttribute("data-choose") === "all";
  readChosen();
});

addEventListener("pageshow", readChosen);
document.addEventListener("htmx:after:swap", () => {
  const there = new Set(boxes().map(({ value }) => value));
  for (const id of chosen) if (!there.has(id)) chosen.delete(id);
  showChosen();
});

// A video plays while the pointer rests on its tile, without sound.
/** @param {Element} link */
function play(link) {
  const video = document.createElement("video");
  video.src = link.getAttribute("data-video") ?? "";
  video.muted = true;
  video.loop = true;
  video.playsInline = true;
  video.setAttribute("aria-hidden", "true");
  link.querySelector("img")?.after(video);
  video.play().catch(() => video.remove());
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let resting;
form?.addEventListener("pointerover", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-video]") : null;
  if (!link || calm.matches || !(event instanceof PointerEvent) || event.pointerType !== "mouse" || link.querySelector("video")) return;
  clearTimeout(resting);
  resting = setTimeout(() => play(link), 150);
});
form?.addEventListener("pointerout", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-video]") : null;
  if (!link || !(event instanceof PointerEvent) || (event.relatedTarget instanceof Node && link.contains(event.relatedTarget))) return;
  clearTimeout(resting);
  link.querySelector("video")?.remove();
});
