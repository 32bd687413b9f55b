/** The script of pages with runs: the tab's title shows the progress, a notification says when a video is done. */

import { hashedPath } from "../static-files.ts";
import { useAround } from "./context.ts";

export const WhenDone = () => {
  const { t } = useAround();
  return (
    <>
      <span id="when-done" hidden data-done={t("video_done")} data-ask={t("notify_ask")} data-yes={t("notify_yes")} />
      <script src={hashedPath("runs.js")} type="module" />
    </>
  );
};
