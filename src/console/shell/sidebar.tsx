/** The sidebar: the navigation with the current page marked, and the account with its menu. On phones it is a drawer. */

import type { Role } from "../../base/roles.ts";
import { mayOpen } from "../access.ts";
import { exactAmount } from "../amounts.ts";
import { type Language, type Translate, languageNames } from "../messages.ts";
import { Button, Filled, Icon, Link, Money, useAround } from "../parts/index.ts";
import { Find } from "../search/find.tsx";
import { groups } from "./places.ts";
import { type Theme, themes } from "./theme.ts";

/** The signed-in user. Amounts in millionths; `remaining` null is no limit. */
export interface ShownMember {
  email: string;
  isAdmin: boolean;
  role: Role;
  /** The account's name. */
  account: string;
  /** The user's other accounts. */
  accounts: { id: string; name: string }[];
  remaining: number | null;
  reserved: number;
  /** The unit of the amounts. */
  unit: string;
}

/** The navigation entry of a path. */
const isAt = (path: string, { path: place, also = [] }: { path: string; also?: readonly string[] }) =>
  [place, ...also].some((start) => path === start || (start !== "/console" && path.startsWith(`${start}/`)));

const Places = ({ path, isAdmin, role }: { path: string; isAdmin: boolean; role: Role }) => {
  const { t } = useAround();
  return (
    <div class="nav">
      {groups.map(({ name, places }) => (
        <>
          {name && (
            <p class="group" id={name}>
              {t(name)}
            </p>
          )}
          <ul aria-labelledby={name}>
            {places
              .filter((place) => (place.name === "admin" ? isAdmin : place.name === "docs" || mayOpen(role, "GET", place.path)))
              .map((place) => (
                <li>
                  <Link href={place.path} aria-current={isAt(path, place) ? "page" : undefined} icon={place.icon} text={t(place.name)} />
                </li>
              ))}
          </ul>
        </>
      ))}
    </div>
  );
};

interface ChoiceProps {
  language: Language;
  t: Translate;
  /** True for an answer to a form, which cannot be reloaded. */
  isAnswer: boolean;
}

/** Links to the page in another language. */
export const Languages = ({ language, t, isAnswer, class: name }: ChoiceProps & { class: string }) => (
  <nav class={name} aria-label={t("language")}>
    {Object.entries(languageNames).map(([code, own]) => (
      <a
        href={`/console/language?to=${code}`}
        lang={code}
        hreflang={code}
        aria-current={code === language ? "true" : undefined}
        referrerpolicy={isAnswer ? "no-referrer" : undefined}
      >
        {own}
      </a>
    ))}
  </nav>
);

const Themes = ({ theme, isAnswer }: { theme: Theme; isAnswer: boolean }) => {
  const { t } = useAround();
  return (
    <nav class="seg sm full" aria-label={t("theme")}>
      {themes.map((name) => (
        <a
          href={`/console/theme?to=${name}`}
          aria-current={name === theme ? "true" : undefined}
          referrerpolicy={isAnswer ? "no-referrer" : undefined}
        >
          {t(`theme_${name}`)}
        </a>
      ))}
    </nav>
  );
};

interface SidebarProps {
  path: string;
  member: ShownMember;
  theme: Theme;
  isAnswer: boolean;
}

export const Sidebar = ({ path, member, theme, isAnswer }: SidebarProps) => {
  const { language, t, unit } = useAround();
  const { email, isAdmin, role, account, accounts, remaining, reserved } = member;
  const exact = (millionths: number) => exactAmount(language, unit, millionths);
  return (
    <nav class="side" id="side" popover="auto" aria-label={t("brand")}>
      <Link class="brand" href="/console" icon="gate" text={t("brand")} />
      <Find href="/console/search" text={t("search")} />
      <Places path={path} isAdmin={isAdmin} role={role} />
      <button class="me" popovertarget="me-menu" type="button">
        <span class="avatar" aria-hidden="true">
          {email.slice(0, 1).toUpperCase()}
        </span>
        <span>
          <b class="clip">{account}</b>
          <span class="meta num">
            <Filled
              message="balance_is"
              by={{
                amount: (
                  <span id="balance-side">
                    <Money millionths={remaining} />
                  </span>
                ),
              }}
            />
          </span>
        </span>
        <span class="vh">{t("account_menu")}</span>
        <Icon name="updown" />
      </button>
      <div class="menu" id="me-menu" popover="auto">
        <div class="pad">
          <strong>{email}</strong>
          <p class="meta num">
            {t("exact_balance", { amount: remaining === null ? t("unlimited") : exact(remaining), reserved: exact(reserved) })}
          </p>
        </div>
        <hr />
        <div class="pad stack tight">
          <span class="meta">{t("theme")}</span>
          <Themes theme={theme} isAnswer={isAnswer} />
          <span class="meta">{t("language")}</span>
          <Languages class="seg sm full" language={language} t={t} isAnswer={isAnswer} />
        </div>
        {accounts.length > 0 && (
          <>
            <hr />
            <form method="post" action="/console/switch" aria-label={t("switch_account")}>
              {accounts.map(({ id, name }) => (
                <button name="account" value={id}>
                  <Icon name="team" />
                  <span class="clip">{t("switch_to", { name })}</span>
                </button>
              ))}
            </form>
          </>
        )}
        <hr />
        <Link href="/console/account" icon="user" text={t("account")} />
        <form method="post" action="/console/sign-out">
          <Button icon="exit" text={t("sign_out")} />
        </form>
      </div>
    </nav>
  );
};
