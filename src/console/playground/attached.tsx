/**
 * Images in a conversation: stored in the form as data URIs with the text of their message, so that they are still there after an answer.
 */

import { Button, Icon, useAround } from "../parts/index.ts";
import type { Images, Message } from "./body.ts";
import type { Typed } from "./fields.ts";
import { pictureTypes } from "./image-file.ts";

/** Images of one message. */
export const maxAttached = 4;
/**
 * The maximum total length of all images of a conversation, because the API accepts chats of 10 MiB. The page's script makes images far
 * smaller.
 */
const maxAttachedLength = 6 * 1024 * 1024;

/** The form with uploaded files as data URIs, for browsers without script. */
export function withFiles(typed: Typed, images: Images): Typed {
  const all = new Map(typed);
  for (const [name, files] of images) {
    const [, message] = /^(messages\.\d{1,4})\.file$/.exec(name) ?? [];
    if (!message) continue;
    const taken = [...typed.keys()].filter((key) => key.startsWith(`${message}.image.`)).length;
    for (const [at, file] of files.entries()) all.set(`${message}.image.${taken + at}`, [file.toDataUri()]);
  }
  return all;
}

/** The message key of the reason why a conversation with these images cannot be sent; undefined if it can. */
export function findTooMuch(messages: Message[]): "images_too_many" | "images_too_large" | undefined {
  if (messages.some(({ images }) => images.length > maxAttached)) return "images_too_many";
  return messages.flatMap(({ images }) => images).reduce((sum, { length }) => sum + length, 0) > maxAttachedLength
    ? "images_too_large"
    : undefined;
}

/** The images of a sent message. */
export const Attached = ({ images }: { images: string[] }) => {
  const { t } = useAround();
  if (images.length === 0) return null;
  return (
    <div class="row attached">
      {images.map((image, at) => (
        <img src={image} alt={t("image_of", { number: at + 1 })} />
      ))}
    </div>
  );
};

/** An image of the unsent message. */
const Draft = ({ name, at, image }: { name: string; at: number | string; image: string }) => {
  const { t } = useAround();
  return (
    <li>
      {image !== "" && <img src={image} alt={t("image_of", { number: Number(at) + 1 })} />}
      <input type="hidden" form="form" name={`${name}.image.${at}`} value={image} />
      <Button class="btn icon sm" type="button" data-detach aria-label={t("remove_image")} title={t("remove_image")} icon="x" />
    </li>
  );
};

/** The images of the unsent message, in the form's field `name`; the page's script adds to them. */
export const AttachedDraft = ({ name, images }: { name: string; images: string[] }) => {
  const { t } = useAround();
  return (
    <>
      <ul
        class="row attached"
        id="attached"
        data-most={maxAttached}
        data-too-many={t("images_too_many", { most: maxAttached })}
        data-not-image={t("not_an_image")}
        data-alt={t("image_of", { number: "" }).trim()}
      >
        {images.map((image, at) => (
          <Draft name={name} at={at} image={image} />
        ))}
      </ul>
      <template id="attached-item">
        <Draft name={name} at="NUMBER" image="" />
      </template>
      <p class="err" id="attached-problem" role="alert" hidden></p>
    </>
  );
};

/** The button that chooses files. */
export const Attach = ({ name }: { name: string }) => {
  const { t } = useAround();
  return (
    <label class="btn ghost sm attach" title={t("attach_hint")}>
      <Icon name="image" />
      {t("attach")}
      <input class="vh" type="file" form="form" name={`${name}.file`} accept={pictureTypes} multiple data-attach />
    </label>
  );
};
