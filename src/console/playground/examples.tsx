/** Shown beside an empty form: examples that fill it. */

import { Empty, Icon, Link, useAround } from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";

const examples = {
  image: [
    { prompt: "example_lighthouse", model: "imgA-4", image: "lighthouse-2.webp" },
    { prompt: "example_fox", model: "imgC-3-pro-image-preview", image: "wall-3.webp" },
    { prompt: "example_teapot", model: "imgB-4o-image", image: "wall-5.webp" },
    { prompt: "example_harbour", model: "imgA-4", image: "wall-8.webp" },
  ],
  video: [
    { prompt: "example_waves", model: "vidA-2", image: "waves.webp" },
    { prompt: "example_city", model: "vidB-3.1-fast", image: "wall-2.webp" },
    { prompt: "example_coast", model: "vidC-1-0-pro-fast", image: "wall-6.webp" },
    { prompt: "example_rain", model: "vidD-02", image: "wall-9.webp" },
  ],
  chat: [
    { prompt: "example_question", model: "textA-1", image: undefined },
    { prompt: "example_explain", model: "textA-1-mini", image: undefined },
    { prompt: "example_names", model: "textA-1-mini", image: undefined },
    { prompt: "example_mail", model: "textA-1", image: undefined },
  ],
} as const;

export const Examples = ({ kind }: { kind: keyof typeof examples }) => {
  const { t } = useAround();
  return (
    <div class="start">
      <h2>{t(`start_${kind}`)}</h2>
      <p class="muted">{t("start_hint")}</p>
      <ul class={kind === "chat" ? "starts text" : "starts"}>
        {examples[kind].map(({ prompt, model, image }) => {
          const name = kind === "chat" ? "messages.1.content" : "prompt";
          const query = new URLSearchParams({ model, [name]: t(prompt) });
          return (
            <li>
              <a class="card hit flush" href={`/console/playground?${query}`}>
                {image === undefined ? <Icon name="chat" /> : <img src={hashedPath(image)} alt="" width={320} height={180} />}
                <span>
                  {t(prompt)}
                  <span class="meta">{model}</span>
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
};

/** The empty right pane. */
export const Nothing = ({ action, isSwapped }: { action: string; isSwapped?: boolean }) => {
  const { t } = useAround();
  return (
    <div class="body" id="result" {...(isSwapped && { "hx-swap-oob": "true" })}>
      {action === "image" || action === "video" ? (
        <Examples kind={action} />
      ) : (
        <Empty
          icon={action === "remix" ? "remix" : action === "file" ? "cube" : "face"}
          title={t(action === "remix" ? "start_remix" : action === "file" ? "start_file" : "start_character")}
          text={t(action === "remix" ? "start_remix_hint" : action === "file" ? "start_file_hint" : "start_character_hint")}
        >
          {action !== "file" && <Link class="btn" href="/console/tasks?kind=video&status=completed" text={t("open_gallery")} />}
        </Empty>
      )}
    </div>
  );
};
