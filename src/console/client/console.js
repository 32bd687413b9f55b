// What the pages do with script: they are whole without it. Elements say what they want by data attributes.

/** `<button data-copy="id">`: the text of that element goes to the clipboard. Shown only where there is script. */
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!(button instanceof HTMLButtonElement)) continue;
  button.hidden = false;
  button.addEventListener("click", () => {
    const source = document.getElementById(button.dataset["copy"] ?? "");
    void navigator.clipboard.writeText(source?.textContent ?? "").then(() => (button.textContent = button.dataset["copied"] ?? ""));
  });
}

// A page that is left needs no answers any more. Cut off by the browser, what a live part has asked for would be an error in its console.
addEventListener("pagehide", () => {
  for (const part of document.querySelectorAll("[data-htmx-powered]")) part.dispatchEvent(new Event("htmx:abort"));
});
