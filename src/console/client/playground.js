// Script of the playground: shows images that are chosen or dropped, and prevents sending a form twice.

/** @param {EventTarget | null} target */
const dropOf = (target) => (target instanceof Element ? target.closest("[data-drop]") : null);

/** @param {Element} place @returns {HTMLInputElement | null} */
const inputOf = (place) => place.querySelector("input[type=file]");

/** Shows a file input's images, reports invalid ones, and names them in the code examples below. @param {HTMLInputElement} input */
function show(input) {
  const files = [...(input.files ?? [])];
  const { maxBytes, tooLarge, most, tooMany } = input.dataset;
  const isTooLarge = files.some((file) => file.size > Number(maxBytes));
  const isTooMany = files.length > Number(most);
  input.setCustomValidity(isTooLarge ? (tooLarge ?? "") : isTooMany ? (tooMany ?? "") : "");
  input.reportValidity();
  const place = input.parentElement;
  const names = place?.querySelector("input[type=hidden]");
  if (names instanceof HTMLInputElement) names.value = files.map((file) => file.name).join("\n");
  const previews = place?.querySelector(".previews");
  for (const image of previews?.querySelectorAll("img") ?? []) URL.revokeObjectURL(image.src);
  previews?.replaceChildren(
    ...files.map((file) => {
      const image = new Image();
      image.src = URL.createObjectURL(file);
      image.alt = file.name;
      return image;
    }),
  );
}

document.addEventListener("change", ({ target }) => {
  if (target instanceof HTMLInputElement && target.type === "file" && dropOf(target)) show(target);
});

for (const name of ["dragenter", "dragover", "dragleave", "drop"])
  document.addEventListener(name, (event) => {
    const place = dropOf(event.target);
    if (!place) return;
    event.preventDefault();
    place.classList.toggle("over", name === "dragenter" || name === "dragover");
  });

document.addEventListener("drop", (event) => {
  const place = dropOf(event.target);
  const input = place && inputOf(place);
  if (!input || !event.dataTransfer?.files.length) return;
  const files = new DataTransfer();
  for (const file of [...(input.multiple ? (input.files ?? []) : []), ...event.dataTransfer.files])
    if (file.type.startsWith("image/")) files.items.add(file);
  input.files = files.files;
  for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind, { bubbles: true }));
});

/** A second click during a chat would pay for a second answer. After stopping it, the user may send it again. */
const secondClickMs = 10_000;
let sentAt = -Infinity;
document.addEventListener("submit", (event) => {
  if (!(event.target instanceof HTMLFormElement) || !("once" in event.target.dataset)) return;
  if (event.timeStamp - sentAt < secondClickMs) event.preventDefault();
  else sentAt = event.timeStamp;
});
