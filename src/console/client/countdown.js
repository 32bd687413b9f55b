// Counts down to times on a page: `<span data-countdown="2027-01-01T00:00:00.000Z">`. Without script the span shows the time itself.

const locale = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;

/** English has letters for its units: `23 h` instead of `23 hrs`. */
const unitDisplay = locale === "en-GB" ? "narrow" : "short";

/** With a space between the number and a Chinese or English unit. @param {number} number @param {"hour" | "minute" | "second"} unit */
const part = (number, unit) =>
  new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay }).format(number).replace(/\d(?=[\p{Script=Han}hms])/u, "$& ");

/** The time left in its two largest units, `23 h 56 m`: with colons it would read as a time of day. @param {number} seconds */
function left(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${part(minutes, "minute")} ${part(seconds % 60, "second")}`
    : `${part(Math.floor(minutes / 60), "hour")} ${part(minutes % 60, "minute")}`;
}

/** Times that have passed. Each triggers one refresh: a clock ahead of the gateway's must not refresh endlessly. */
const told = new WeakSet();

function tick() {
  for (const moment of document.querySelectorAll("[data-countdown]")) {
    const until = Date.parse(moment.getAttribute("data-countdown") ?? "");
    const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    const shown = moment.querySelector("[aria-hidden]") ?? moment.appendChild(document.createElement("strong"));
    // Screen readers get the time itself, not the countdown.
    shown.setAttribute("aria-hidden", "true");
    const text = ` ${left(seconds)}`;
    if (shown.textContent !== text) shown.textContent = text;
    if (seconds > 0 || told.has(moment)) continue;
    told.add(moment);
    moment.dispatchEvent(new Event("expired", { bubbles: true }));
  }
}

tick();
setInterval(tick, 1000);
