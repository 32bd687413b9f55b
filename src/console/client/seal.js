// The card of a file's credential: when it opens, the file's manifest is read here and fills in who signed the file, and when.

/** Defined by manifest.js, which the page loads before this script. @type {(buffer: ArrayBuffer) => Promise<{ byModel: boolean, signer?: string, time?: number, isStamped?: boolean }>} */
const examineFile = Reflect.get(globalThis, "examineFile");
const locale = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;

/** Shows a fact of the card. @param {Element} card @param {string} name @param {string} [text] */
function show(card, name, text) {
  for (const part of card.querySelectorAll(`[data-if="${name}"]`)) part.removeAttribute("hidden");
  const value = card.querySelector(`dd[data-if="${name}"] bdi`);
  if (value) value.textContent = text ?? "";
}

/** @param {number} ms */
const words = (ms) => `${new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }).format(ms)} UTC`;

/** @param {HTMLElement} card */
async function fill(card) {
  const url = card.dataset["file"];
  if (url === undefined) return;
  // Once: what is missing after a fault stays out, and the card says less.
  delete card.dataset["file"];
  const answer = await fetch(url);
  if (!answer.ok) return;
  const { byModel, signer, time, isStamped } = await examineFile(await answer.arrayBuffer());
  if (byModel) show(card, "says");
  if (signer !== undefined) show(card, "signer", signer);
  if (time !== undefined) show(card, isStamped ? "stamped" : "stated", words(time));
}

// The event does not bubble.
document.addEventListener(
  "toggle",
  (event) => {
    const card = event.target;
    if (card instanceof HTMLElement && card.matches(".popcard[data-file]") && Reflect.get(event, "newState") === "open")
      fill(card).catch(() => undefined);
  },
  true,
);
