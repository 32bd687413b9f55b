// Thumbnails for videos that lack one, on every page with tiles: the first frame is drawn once, and the gateway stores it.
const width = 480;
const maxBytes = 40_000;

/** @param {HTMLCanvasElement} canvas @param {number} quality @returns {Promise<Blob | null>} */
const encode = (canvas, quality) => new Promise((resolve) => canvas.toBlob(resolve, "image/webp", quality));

/** @param {Element} place */
async function capture(place) {
  const video = document.createElement("video");
  video.crossOrigin = "anonymous";
  video.muted = true;
  video.preload = "auto";
  video.src = place.getAttribute("data-film") ?? "";
  video.currentTime = 0.1;
  await new Promise((resolve, reject) => {
    video.addEventListener("seeked", resolve, { once: true });
    video.addEventListener("error", () => reject(new Error("the video cannot be played")), { once: true });
  });
  const canvas = document.createElement("canvas");
  canvas.width = Math.min(width, video.videoWidth);
  canvas.height = Math.round((canvas.width * video.videoHeight) / video.videoWidth);
  canvas.getContext("2d")?.drawImage(video, 0, 0, canvas.width, canvas.height);
  video.removeAttribute("src");
  video.load();
  for (const quality of [0.8, 0.5, 0.2]) {
    const blob = await encode(canvas, quality);
    if (!blob || blob.size > maxBytes) continue;
    const answer = await fetch(place.getAttribute("data-capture") ?? "", { method: "POST", body: blob });
    if (!answer.ok) return;
    const image = new Image();
    image.alt = place.getAttribute("data-title") ?? "";
    image.src = await answer.text();
    await image.decode();
    place.replaceWith(image);
    return;
  }
}

/** One after the other: a page of videos must not load all of them at once. */
let queue = Promise.resolve();
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    queue = queue.then(() => (target.isConnected ? capture(target) : undefined)).catch(() => undefined);
  }
});
function look() {
  for (const place of document.querySelectorAll("[data-capture]")) seen.observe(place);
}
look();
document.addEventListener("htmx:after:swap", look);
