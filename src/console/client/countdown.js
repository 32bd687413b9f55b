// Counts down to the moments of a page: `<span data-countdown="2027-01-01T00:00:00.000Z">`. The time itself stands in it, for those without script.

/** Hours, minutes and seconds, which read the same in every language. */
const clock = (/** @type {number} */ seconds) =>
  [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0")).join(":");

/** Moments that have come. Each is told once: a clock that is ahead of the gateway's must not ask for ever. */
const told = new WeakSet();

function tick() {
  for (const moment of document.querySelectorAll("[data-countdown]")) {
    const until = Date.parse(moment.getAttribute("data-countdown") ?? "");
    const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    const shown = moment.querySelector("[aria-hidden]") ?? moment.appendChild(document.createElement("strong"));
    // Seconds that pass are not read out; the time is.
    shown.setAttribute("aria-hidden", "true");
    shown.textContent = ` ${clock(seconds)}`;
    if (seconds > 0 || told.has(moment)) continue;
    told.add(moment);
    moment.dispatchEvent(new Event("expired", { bubbles: true }));
  }
}

tick();
setInterval(tick, 1000);
