// Passkeys: the browser's dialogue between two requests to the console. Elements with `data-passkey` are shown if the browser supports
// passkeys.

/** A passkey belongs to a host name, never to an IP address. */
const isNamed = !/^[\d.]+$|^\[/.test(location.hostname);
const isAble = isNamed && typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";

/** @param {string} path @param {object} [body] @returns {Promise<any>} the console's answer; throws its status if it failed */
async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
  });
  if (!answer.ok) throw answer.status;
  return answer.json();
}

/** @param {string} to */
async function signIn(to) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await ask("/console/passkeys/options"));
  const credential = await navigator.credentials.get({ publicKey });
  await ask("/console/passkeys", { response: credential });
  location.assign(to);
}

/** @param {string} name */
async function add(name) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(await ask("/console/account/passkeys/options"));
  const credential = await navigator.credentials.create({ publicKey });
  await ask("/console/account/passkeys", { response: credential, name });
  location.assign("/console/account?done=passkey_added");
}

for (const element of document.querySelectorAll("[data-passkey]")) {
  if (!isAble || !(element instanceof HTMLElement)) continue;
  const problem = element.querySelector("[role=alert]");
  /** @param {() => Promise<void>} work */
  const attempt = (work) => {
    if (problem instanceof HTMLElement) problem.hidden = true;
    work().catch((error) => {
      if (!(problem instanceof HTMLElement)) return;
      problem.textContent = (error === 403 ? element.dataset["stale"] : undefined) ?? element.dataset["failed"] ?? "";
      problem.hidden = false;
    });
  };
  const name = element.querySelector("input");
  if (name)
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(() => add(name.value));
    });
  else element.querySelector("button")?.addEventListener("click", () => attempt(() => signIn(element.dataset["to"] ?? "/console")));
  element.hidden = false;
}
