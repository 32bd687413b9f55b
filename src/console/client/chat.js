// Script of the playground's chat: the answer appears as it arrives, and can be stopped.

/** Replaces parts of the page by HTML from the console. @param {string} text @param {string} target */
const swap = (text, target) =>
  htmx.swap({ text, target: document.querySelector(target), swap: "outerHTML", sourceElement: document.querySelector("#play") });

/** Where an answer belongs: a note about a form that was not read, above the form. @param {Response} response @param {string} target */
const findTarget = ({ headers }, target) => (headers.get("hx-reswap") === "none" ? "#unsent" : target);

const toEnd = () => document.querySelector(".chatting #result")?.scrollTo({ top: 1e9 });

const converse = Reflect.get(globalThis, "converse");

/** Sends the conversation, or requests the last answer `again`, and shows it as it arrives. @param {HTMLFormElement} form @param {string} how */
async function send(form, how) {
  document.querySelector("#unsent")?.replaceChildren();
  let said = "";
  /** The sent values, read before the form is replaced. */
  const sent = new FormData(form);
  const post = (/** @type {Record<string, string>} */ more, /** @type {RequestInit} */ init) => {
    for (const [name, value] of Object.entries(more)) sent.set(name, value);
    return fetch("/console/playground", { method: "POST", body: sent, ...init });
  };
  await converse(
    (/** @type {AbortSignal} */ signal) => post({ do: how }, { headers: { accept: "text/event-stream", "hx-request": "true" }, signal }),
    {
      whole: async (/** @type {Response} */ response) => swap(await response.text(), findTarget(response, "#play")),
      event: async (/** @type {any} */ { html, text }) => {
        if (text !== undefined) {
          said += text;
          document.querySelector("#answer")?.append(text);
        } else await swap(html, html.includes('id="play"') ? "#play" : "#result");
        toEnd();
      },
      keep: async () => {
        const response = await post({ do: "stopped", was: how, answer: said }, { headers: { "hx-request": "true" } });
        await swap(await response.text(), findTarget(response, "#result"));
      },
    },
  ).finally(() => {
    const next = document.querySelector("#form [data-focus]") ?? document.querySelector("#f-say");
    if (next instanceof HTMLElement) next.focus();
    toEnd();
  });
}

document.addEventListener(
  "submit",
  (event) => {
    const { target, submitter } = event;
    if (!(target instanceof HTMLFormElement) || target.id !== "form") return;
    if (!(submitter instanceof HTMLButtonElement) || !("send" in submitter.dataset)) return;
    event.preventDefault();
    void send(target, submitter.value);
  },
  { capture: true },
);

toEnd();
