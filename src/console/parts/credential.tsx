/** The badge of a file that carries a credential: who signed it, and a card that says what that means. */

import type { TaskData } from "../answers.ts";
import { taskImages, taskVideo } from "../answers.ts";
import { useAround } from "./context.ts";
import { Icon } from "./icon.tsx";

type Credentials = "maker" | "gateway" | "none";

/** Who signed the files of a task. For several files the weakest answer, because the badge is about all of them. undefined if there is no file, or if one was not examined. */
export function taskCredentials(task: TaskData): Credentials | undefined {
  const found = [...taskImages(task), taskVideo(task)].flatMap((file) => (file ? [file.credentials] : []));
  if (found.length === 0 || found.includes(undefined)) return undefined;
  return (["none", "gateway", "maker"] as const).find((one) => found.includes(one));
}

/** The badge on an image or video, with its card; nothing for a file without a credential. `id` is unique on the page. */
export const CredentialBadge = ({ of, id }: { of: Credentials | undefined; id: string }) => {
  const { t } = useAround();
  if (of === undefined || of === "none") return null;
  return (
    <>
      <button class="cred on" type="button" popovertarget={id}>
        <Icon name="seal" />
        {t(`credential_${of}`)}
      </button>
      <div class="popcard" id={id} popover="auto" role="dialog" aria-label={t(`credential_${of}`)}>
        <h2>{t(`credential_${of}_title`)}</h2>
        <p class="muted t13">{t(`credential_${of}_text`)}</p>
        <p class="row gap0">
          <a class="btn sm" href="/verify">
            <Icon name="seal" />
            {t("credential_check")}
          </a>
          <a class="btn ghost sm" href="/docs/marks">
            <Icon name="book" />
            {t("credential_docs")}
          </a>
        </p>
      </div>
    </>
  );
};
