// Counts down to times on a page: `<span data-countdown="2027-01-01T00:00:00.000Z">`. Without script the span shows the time itself.

/** Hours, minutes and seconds, in the same format in every language. */
const clock = (/** @type {number} */ seconds) =>
  [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0")).join(":");

/** Times that have passed. Each triggers one refresh: a clock ahead of the gateway's must not refresh endlessly. */
const told = new WeakSet();

function tick() {
  for (const moment of document.querySelectorAll("[data-countdown]")) {
    const until = Date.parse(moment.getAttribute("data-countdown") ?? "");
    const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    const shown = moment.querySelector("[aria-hidden]") ?? moment.appendChild(document.createElement("strong"));
    // Screen readers get the time itself, not the countdown.
    shown.setAttribute("aria-hidden", "true");
    shown.textContent = ` ${clock(seconds)}`;
    if (seconds > 0 || told.has(moment)) continue;
    told.add(moment);
    moment.dispatchEvent(new Event("expired", { bubbles: true }));
  }
}

tick();
setInterval(tick, 1000);
