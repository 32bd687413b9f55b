// Runs on a page: a run shows its place before the gateway answers, the tab's title shows the progress, and a notification says when a video is done.

/** The page's title without the progress, and the title that was set with it. */
let [title, shown] = [document.title, ""];
let isRunning = false;

const progressBar = () => document.querySelector("progress[data-tab]");
const words = document.querySelector("#when-done");

/** @param {string} name */
const say = (name) => words?.getAttribute(`data-${name}`) ?? "";

function showProgress() {
  if (document.title !== shown) title = document.title;
  const bar = progressBar();
  shown = bar ? `${bar.getAttribute("data-tab")} · ${title}` : title;
  if (document.title !== shown) document.title = shown;
}

/** Asks once, after the first video, whether a notification is wanted for the next ones. */
function offer() {
  if (Notification.permission !== "default" || localStorage.getItem("notify-asked") !== null) return;
  localStorage.setItem("notify-asked", "yes");
  const box = document.createElement("div");
  box.className = "toast";
  const [text, button] = [document.createElement("span"), document.createElement("button")];
  text.textContent = say("ask");
  button.className = "btn sm";
  button.textContent = say("yes");
  button.addEventListener("click", () => {
    box.remove();
    void Notification.requestPermission();
  });
  box.append(text, button);
  document.querySelector(".toasts")?.append(box);
  setTimeout(() => box.remove(), offerMs);
}

const offerMs = 20_000;

/** A run has ended: a video that nobody looks at is worth a notification. */
function end() {
  const video = document.querySelector("#result video, #task video");
  if (!video || !("Notification" in globalThis)) return;
  if (!document.hidden) return offer();
  if (Notification.permission !== "granted") return;
  try {
    const note = new Notification(say("done"), { body: video.getAttribute("aria-label") ?? "", tag: location.href });
    note.addEventListener("click", () => {
      focus();
      note.close();
    });
  } catch {
    // Browsers of phones have no notifications of pages.
  }
}

function look() {
  showProgress();
  const isNow = progressBar() !== null;
  if (isRunning && !isNow) end();
  isRunning = isNow;
}

document.addEventListener("htmx:after:swap", look);
look();

// The place of a run while the gateway checks and accepts it. Children of the result are put aside, for a form that is refused.

/** @type {Node[] | undefined} */
let aside;

/** @param {Event & { detail: any }} event */
const isRun = ({ detail: { ctx } }) => ctx?.sourceElement?.id === "form" && ctx.request?.submitter?.value === "run";

/** @param {FormData} form */
function waiting(form) {
  const template = document.querySelector("template#waiting");
  const place = template instanceof HTMLTemplateElement ? template.content.firstElementChild : null;
  const box = document.createElement("div");
  const count = Math.min(4, Math.max(1, form.getAll("with").length > 0 ? form.getAll("with").length + 1 : Number(form.get("n") ?? 1)));
  box.className = count > 1 ? "shots" : "shots single";
  const size = form.get("size");
  const ratio = /^(\d+):(\d+)$/.exec(typeof size === "string" ? size : "");
  if (!place) return box;
  for (let at = 0; at < count; at++) {
    const tile = place.cloneNode(at === 0);
    if (tile instanceof Element && ratio) tile.className = `wait r-${ratio[1]}-${ratio[2]}`;
    box.append(tile);
  }
  return box;
}

document.addEventListener("htmx:before:request", (event) => {
  const result = document.querySelector("#result");
  if (!isRun(event) || !result || !document.querySelector("template#waiting")) return;
  aside = [...result.childNodes];
  result.replaceChildren(waiting(event.detail.ctx.request.body));
  const tab = document.querySelector("#tab-result");
  if (tab instanceof HTMLInputElement) tab.checked = true;
});

function restore() {
  if (aside) document.querySelector("#result")?.replaceChildren(...aside);
  aside = undefined;
}

// A refused form gets its errors instead of a result; so does one that no gateway answered.
document.addEventListener("htmx:before:swap", (event) => {
  if (!isRun(event)) return;
  const { retarget, reswap } = event.detail.ctx.hx ?? {};
  if (retarget !== undefined || reswap === "none") restore();
  aside = undefined;
});
document.addEventListener("htmx:error", (event) => {
  if (isRun(event)) restore();
});
// The run before, if it still runs, must not come back into this place.
document.addEventListener("htmx:config:request", (event) => {
  if (aside && event.target instanceof Element && event.target.id === "result") event.preventDefault();
});
