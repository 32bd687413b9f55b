/** The tray: all images of a request, each with its role: chosen files, URLs, stored files of the account, images of its tasks. The script of the page adds to it; without script there are plain inputs. */

import { fileDigest } from "../../base/file-id.ts";
import { valueLabel } from "../messages/playground-fields.ts";
import { Button, Icon, useAround } from "../parts/index.ts";
import { picturesIn } from "./body.ts";
import type { Field, Typed } from "./fields.ts";
import { pictureTypes } from "./image-file.ts";
import { maxImageBytes } from "./images.ts";

/** A URL, or the id of a file. */
const addressPattern = "https?://.+|file_.+";
/** The number of inputs without script: more than three images at once are rare. */
const plainRows = 3;

export type PicturesField = Field & { as: "pictures" };

const Role = ({ roles, at, role }: { roles: string[]; at: number | string; role: string | undefined }) => {
  const { language, t } = useAround();
  return (
    <select class="in" name={`pictures.${at}.role`} aria-label={t("image_role")}>
      {roles.map((one) => (
        <option value={one} selected={one === role}>
          {valueLabel(language, one)}
        </option>
      ))}
    </select>
  );
};

/** The script replaces this by an item's number. */
const anyNumber = "NUMBER";

interface ItemProps {
  at: number | string;
  url?: string;
  task?: string;
  role?: string;
  roles: string[];
}

/** Where the console shows an image of the account; undefined for an image on another host. */
const ownSource = ({ url = "", task = "" }: Pick<ItemProps, "url" | "task">): string | undefined => {
  if (task !== "") return `/console/playground/picture/${task}`;
  return fileDigest(url) === undefined ? undefined : `/console/files/${url}/content`;
};

const Item = ({ at, url = "", task = "", role, roles }: ItemProps) => {
  const { t } = useAround();
  const own = ownSource({ url, task });
  return (
    <li>
      <span class="shot">
        {own === undefined ? (
          <>
            <Icon name="globe" />
            <span class="clip">{URL.parse(url)?.host ?? url}</span>
          </>
        ) : (
          <img src={own} alt={t(task === "" ? "file" : "gallery_image")} />
        )}
      </span>
      <input type="hidden" name={`pictures.${at}.url`} value={url} />
      <input type="hidden" name={`pictures.${at}.task`} value={task} />
      {roles.length > 0 && <Role roles={roles} at={at} role={role} />}
      <Button class="btn icon" type="button" data-remove aria-label={t("remove_image")} title={t("remove_image")} icon="x" />
    </li>
  );
};

export const Tray = ({ field, typed }: { field: PicturesField; typed: Typed }) => {
  const { language, t } = useAround();
  const pictures = picturesIn(typed, new Map());
  const roles = field.roles.map((role) => `${role}=${valueLabel(language, role)}`).join("|");
  return (
    <>
      <ul class="tray" id="tray" hx-preserve>
        {pictures.map(({ at, url, task, role }) => (
          <Item at={at} url={url} task={task} role={role} roles={field.roles} />
        ))}
        <li class="drop">
          <Icon name="upload" />
          <span class="first">{t("drop_images")}</span>
          <span class="again">{t("add")}</span>
          <input type="file" id="f-pictures" accept={pictureTypes} multiple aria-label={t("add_images")} data-picker />
        </li>
      </ul>
      <template id="tray-item">
        <Item at={anyNumber} roles={field.roles} />
      </template>
      <div
        class="row tight"
        id="tray-more"
        hidden
        data-scripted
        data-most={field.most}
        data-roles={roles}
        data-max-bytes={maxImageBytes}
        data-too-large={t("image_too_large")}
        data-too-many={t("too_many_images", { most: field.most })}
        data-not-image={t("not_an_image")}
      >
        <input
          class="in sm grow0"
          inputmode="url"
          id="tray-url"
          placeholder="https://…"
          pattern={addressPattern}
          title={t("add_image_url")}
          aria-label={t("add_image_url")}
        />
        <Button class="btn sm" type="button" data-add-url text={t("add")} />
        <Button
          class="btn sm"
          type="button"
          popovertarget="pictures"
          hx-get="/console/playground/pictures"
          hx-target="#pictures"
          hx-swap="innerHTML"
          icon="grid"
          text={t("from_gallery")}
        />
      </div>
      <p class="err" id="tray-problem" role="alert" hidden></p>
      <noscript>
        {Array.from({ length: Math.min(field.most, plainRows) }, (_, row) => {
          const at = pictures.length + row;
          return (
            <div class="stack tight">
              <input type="file" name={`pictures.${at}`} accept={pictureTypes} aria-label={t("image_of", { number: at + 1 })} />
              <input
                class="in sm"
                inputmode="url"
                name={`pictures.${at}.url`}
                placeholder="https://…"
                pattern={addressPattern}
                title={t("add_image_url")}
                aria-label={t("address_of", { number: at + 1 })}
              />
              {field.roles.length > 0 && <Role roles={field.roles} at={at} role={field.roles[Math.min(at, field.roles.length - 1)]} />}
            </div>
          );
        })}
      </noscript>
    </>
  );
};
