// Script of the playground's chat: the answer appears as it arrives, and can be stopped.

/** Replaces parts of the page by HTML from the console. @param {string} text @param {string} target */
const swap = (text, target) =>
  htmx.swap({ text, target: document.querySelector(target), swap: "outerHTML", sourceElement: document.querySelector("#play") });

/** Where an answer belongs: a note about a form that was not read, above the form. @param {Response} response @param {string} target */
const findTarget = ({ headers }, target) => (headers.get("hx-reswap") === "none" ? "#unsent" : target);

const toEnd = () => document.querySelector(".chatting #result")?.scrollTo({ top: 1e9 });

const eventsIn = Reflect.get(globalThis, "eventsIn");
/** @type {AbortController | undefined} */
let running;

/** @param {HTMLFormElement} form @param {Record<string, string>} more @param {AbortSignal} [signal] */
function ask(form, more, signal) {
  const body = new FormData(form);
  for (const [name, value] of Object.entries(more)) body.set(name, value);
  const headers = { accept: "text/event-stream", "hx-request": "true" };
  return fetch("/console/playground", { method: "POST", body, headers, signal });
}

/** Sends the conversation, or requests the last answer `again`, and shows it as it arrives. @param {HTMLFormElement} form @param {string} how */
async function send(form, how) {
  running = new AbortController();
  document.querySelector("#unsent")?.replaceChildren();
  let said = "";
  /** The sent values, read before the form is replaced. */
  const sent = new FormData(form);
  try {
    const response = await ask(form, { do: how }, running.signal);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) {
      await swap(await response.text(), findTarget(response, "#play"));
      return;
    }
    for await (const { html, text } of eventsIn(response.body)) {
      const answer = document.querySelector("#answer");
      if (text !== undefined) {
        said += text;
        answer?.append(text);
      } else await swap(html, html.includes('id="play"') ? "#play" : "#result");
      toEnd();
    }
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "AbortError") {
      // The page says that the connection is lost.
      document.dispatchEvent(new CustomEvent("htmx:error", { detail: { ctx: {} } }));
      throw error;
    }
    for (const [name, value] of Object.entries({ do: "stopped", was: how, answer: said })) sent.set(name, value);
    const response = await fetch("/console/playground", { method: "POST", body: sent, headers: { "hx-request": "true" } });
    await swap(await response.text(), findTarget(response, "#result"));
  } finally {
    running = undefined;
    const problem = document.querySelector("#form [data-focus]");
    const next = problem ?? document.querySelector("#f-say");
    if (next instanceof HTMLElement) next.focus();
    toEnd();
  }
}

document.addEventListener(
  "submit",
  (event) => {
    const { target, submitter } = event;
    if (!(target instanceof HTMLFormElement) || target.id !== "form") return;
    if (!(submitter instanceof HTMLButtonElement) || !("send" in submitter.dataset)) return;
    event.preventDefault();
    if (!running) void send(target, submitter.value);
  },
  { capture: true },
);

document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("#stop")) running?.abort();
});

toEnd();
