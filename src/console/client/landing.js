// The film of the landing page: it plays by itself, muted and in a loop, and has a button that pauses it. Where motion is unwanted it waits
// for the button. Without script the still image and a link to the film remain.

const film = document.querySelector("[data-film]");
const link = document.querySelector("[data-film-link]");
const button = document.querySelector("[data-film-button]");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

if (film instanceof HTMLVideoElement && link instanceof HTMLElement && button instanceof HTMLButtonElement) {
  const show = () => {
    const isPlaying = !film.paused;
    button.setAttribute("aria-label", button.getAttribute(isPlaying ? "data-pause" : "data-play") ?? "");
    button.toggleAttribute("data-playing", isPlaying);
  };
  // A browser that saves power may refuse: then the button starts the film.
  const play = () => film.play().catch(() => undefined);
  // True after a click on pause: then nothing but another click starts the film.
  let isStopped = calm.matches;
  let isSeen = false;

  film.addEventListener("play", show);
  film.addEventListener("pause", show);
  button.addEventListener("click", () => {
    isStopped = !film.paused;
    if (isStopped) film.pause();
    else void play();
  });
  calm.addEventListener("change", () => {
    isStopped = calm.matches;
    if (isStopped) film.pause();
    else if (isSeen) void play();
  });
  link.hidden = true;
  button.hidden = false;
  show();
  // Out of sight it costs nothing.
  new IntersectionObserver(([entry]) => {
    isSeen = entry?.isIntersecting ?? false;
    if (!isSeen) film.pause();
    else if (!isStopped) void play();
  }).observe(film);
}
