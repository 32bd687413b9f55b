// Script of the chat page: answers appear as they arrive, side by side, and can be stopped.

/** @param {string} text */
const swap = (text) => htmx.swap({ text, target: document.querySelector("#rooms"), swap: "outerHTML", sourceElement: document.body });

const toEnd = () => document.querySelector("#talk")?.scrollTo({ top: 1e9 });

const converse = Reflect.get(globalThis, "converse");

/** @param {HTMLFormElement} form @param {string} how */
async function send(form, how) {
  const body = new FormData(form);
  body.set("do", how);
  /** @type {string[]} */
  const texts = [];
  await converse(
    (/** @type {AbortSignal} */ signal) =>
      fetch(form.action, { method: "POST", body, headers: { accept: "text/event-stream", "hx-request": "true" }, signal }),
    {
      whole: async (/** @type {Response} */ response) => {
        if (response.redirected) location.assign(response.url);
        else await swap(await response.text());
      },
      event: async (/** @type {any} */ { html, path, of, text }) => {
        if (text === undefined) {
          await swap(html);
          if (location.pathname !== path) history.replaceState(history.state, "", path);
          for (const at of document.querySelectorAll("[data-reply]")) texts[Number(at.getAttribute("data-reply"))] ??= "";
        } else {
          texts[of] = (texts[of] ?? "") + text;
          document.querySelector(`[data-reply="${of}"]`)?.append(text);
        }
        toEnd();
      },
      keep: async () => {
        const now = document.querySelector("#say");
        if (!(now instanceof HTMLFormElement)) return;
        const kept = new FormData(now);
        kept.set("do", "stopped");
        for (const text of texts) kept.append("text", text);
        const response = await fetch(now.action, { method: "POST", body: kept, headers: { "hx-request": "true" } });
        await swap(await response.text());
      },
    },
  ).finally(() => {
    document.getElementById("f-say")?.focus();
    toEnd();
  });
}

document.addEventListener(
  "submit",
  (event) => {
    const { target, submitter } = event;
    if (!(target instanceof HTMLFormElement) || !("chat" in target.dataset) || !(submitter instanceof HTMLButtonElement)) return;
    if (!["send", "again", "edit"].includes(submitter.value)) return;
    event.preventDefault();
    void send(target, submitter.value);
  },
  { capture: true },
);

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(event.target instanceof HTMLTextAreaElement)) return;
  const { form } = event.target;
  if (!form || !("chat" in form.dataset)) return;
  event.preventDefault();
  // While an answer arrives, there is no such button.
  const button = form.querySelector('button[value="edit"], #send');
  if (button instanceof HTMLElement) form.requestSubmit(button);
});

toEnd();
