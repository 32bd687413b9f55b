// Script of the chat page: answers appear as they arrive, side by side, and can be stopped.

/** @param {string} text */
const swap = (text) => htmx.swap({ text, target: document.querySelector("#rooms"), swap: "outerHTML", sourceElement: document.body });

const toEnd = () => document.querySelector("#talk")?.scrollTo({ top: 1e9 });

const eventsIn = Reflect.get(globalThis, "eventsIn");
/** @type {AbortController | undefined} */
let running;

/** Keeps what has arrived of the answers. @param {string[]} texts */
async function keep(texts) {
  const form = document.querySelector("#say");
  if (!(form instanceof HTMLFormElement)) return;
  const body = new FormData(form);
  body.set("do", "stopped");
  for (const text of texts) body.append("text", text);
  const response = await fetch(form.action, { method: "POST", body, headers: { "hx-request": "true" } });
  await swap(await response.text());
}

/** @param {HTMLFormElement} form @param {string} how */
async function send(form, how) {
  running = new AbortController();
  const body = new FormData(form);
  body.set("do", how);
  /** @type {string[]} */
  const texts = [];
  try {
    const headers = { accept: "text/event-stream", "hx-request": "true" };
    const response = await fetch(form.action, { method: "POST", body, headers, signal: running.signal });
    if (response.redirected) return location.assign(response.url);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) return await swap(await response.text());
    for await (const { html, path, of, text } of eventsIn(response.body)) {
      if (text === undefined) {
        await swap(html);
        if (location.pathname !== path) history.replaceState(history.state, "", path);
        for (const at of document.querySelectorAll("[data-reply]")) texts[Number(at.getAttribute("data-reply"))] ??= "";
      } else {
        texts[of] = (texts[of] ?? "") + text;
        document.querySelector(`[data-reply="${of}"]`)?.append(text);
      }
      toEnd();
    }
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "AbortError") {
      // The page says that the connection is lost.
      document.dispatchEvent(new CustomEvent("htmx:error", { detail: { ctx: {} } }));
      throw error;
    }
    await keep(texts);
  } finally {
    running = undefined;
    document.getElementById("f-say")?.focus();
    toEnd();
  }
}

document.addEventListener(
  "submit",
  (event) => {
    const { target, submitter } = event;
    if (!(target instanceof HTMLFormElement) || !("chat" in target.dataset) || !(submitter instanceof HTMLButtonElement)) return;
    if (!["send", "again", "edit"].includes(submitter.value)) return;
    event.preventDefault();
    if (!running) void send(target, submitter.value);
  },
  { capture: true },
);

document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("#stop")) running?.abort();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(event.target instanceof HTMLTextAreaElement)) return;
  const { form } = event.target;
  if (!form || !("chat" in form.dataset)) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector('button[value="edit"], #send'));
});

toEnd();
