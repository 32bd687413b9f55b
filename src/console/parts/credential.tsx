/** The badge of a file that carries a credential: who signed it, and a card that says what that means. */

import { hexDigest } from "../../base/file-id.ts";
import type { Asset } from "../../storage/assets.ts";
import type { TaskData } from "../answers.ts";
import { taskImages, taskVideo } from "../answers.ts";
import { useAround } from "./context.ts";
import { hashedPath } from "../static-files.ts";
import { ClockTime } from "./date-time.tsx";
import { Button, Link } from "./button.tsx";

type Credentials = "maker" | "gateway" | "none";

/** Who signed the files of a task. For several files the weakest answer, because the badge is about all of them. undefined if there is no file, or if one was not examined. */
export function taskCredentials(task: TaskData): Credentials | undefined {
  const found = [...taskImages(task), taskVideo(task)].flatMap((file) => (file ? [file.credentials] : []));
  if (found.length === 0 || found.includes(undefined)) return undefined;
  return (["none", "gateway", "maker"] as const).find((one) => found.includes(one));
}

interface Badge {
  of: Credentials | undefined;
  /** Unique on the page. */
  id: string;
  /** The file; a task may have made none of its kind. */
  asset: Asset | undefined;
  /** The file's URL, whose manifest the browser reads when the card opens (`client/seal.js`). */
  url: string | undefined;
  /** When its task completed, in seconds. */
  madeAt: number | undefined;
}

/** The badge on an image or video, with its card; nothing for a file without a credential. */
export const CredentialBadge = ({ of, id, asset, url, madeAt }: Badge) => {
  const { t } = useAround();
  if (of === undefined || of === "none") return null;
  const digest = asset && hexDigest(asset.digest);
  return (
    <>
      <Button class="cred on" type="button" popovertarget={id} icon="seal" text={t(`credential_${of}`)} />
      <div class="popcard" id={id} popover="auto" role="dialog" aria-label={t(`credential_${of}`)} data-file={url}>
        <h2>{t(`credential_${of}_title`)}</h2>
        <p class="muted t13">{t(`credential_${of}_text`)}</p>
        <dl class="facts gap0">
          {madeAt !== undefined && (
            <>
              <dt>{t("credential_made")}</dt>
              <dd>
                <ClockTime ms={madeAt * 1000} />
              </dd>
            </>
          )}
          {(["says", "signer", "stamped", "stated"] as const).map((name) => (
            <>
              <dt data-if={name} hidden>
                {t(`credential_${name}`)}
              </dt>
              <dd data-if={name} hidden>
                {name === "says" ? t("credential_by_model") : <bdi />}
              </dd>
            </>
          ))}
          {digest && (
            <>
              <dt>{t("credential_digest")}</dt>
              <dd>
                <code class="id" title={digest}>
                  {`${digest.slice(0, 4)}…${digest.slice(-4)}`}
                </code>
              </dd>
            </>
          )}
        </dl>
        <p class="row gap0">
          <Link class="btn sm" href="/verify" icon="seal" text={t("credential_check")} />
          <Link class="btn ghost sm" href="/docs/marks" icon="book" text={t("credential_docs")} />
        </p>
      </div>
    </>
  );
};

/** What fills in the cards of a page. */
export const CredentialScripts = () => (
  <>
    {["credentials.js", "manifest.js", "seal.js"].map((name) => (
      <script src={hashedPath(name)} type="module" />
    ))}
  </>
);
