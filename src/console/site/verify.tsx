/** `/verify`: whether a file was made here, for people. The file is read in the browser (`client/verify.js`); without script the page says how to ask. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { Code, Icon, Note } from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";
import { publicPage } from "./layout.tsx";

type T = ConsoleContext["var"]["t"];

/** A line of what was checked; with `holds` it is shown only if that is true of the file. */
const Check = ({ icon, tone, title, text, holds }: { icon: string; tone?: string; title: string; text: Child; holds?: string }) => (
  <li data-if={holds} class={tone}>
    <Icon name={icon} />
    <span>{title}</span>
    <p>{text}</p>
  </li>
);

/** `t` leaves it in a sentence to which no value is given. */
const valuePlace = "{value}";

/** A sentence with a place for a value of the file, shown only if the file has that value. */
const Filled = ({ slot, holds, text }: { slot: string; holds: string; text: string }) => {
  const [before, after] = text.split(valuePlace);
  return (
    <span data-if={holds}>
      {before}
      <bdi data-slot={slot} />
      {after}{" "}
    </span>
  );
};

/** What the file's own manifest says, read in the browser. */
const Manifest = ({ t }: { t: T }) => (
  <>
    <Check
      icon="seal"
      tone="ok"
      holds="found"
      title={t("verify_found")}
      text={
        <>
          <span data-if="maker">{t("verify_by_maker")} </span>
          <span data-if="gateway">{t("verify_by_gateway")} </span>
          <Filled slot="signer" holds="signer" text={t("verify_signed_by")} />
          <Filled slot="time" holds="stamped" text={t("verify_stamped")} />
          <Filled slot="time" holds="stated" text={t("verify_stated")} />
          <span data-if="model">{t("verify_says_model")} </span>
          {t("verify_not_checked")}
        </>
      }
    />
    <Check icon="info" holds="missing" title={t("verify_missing")} text={t("verify_missing_hint")} />
  </>
);

interface Answer {
  name: string;
  tone: "good" | "warn";
  icon: string;
  title: string;
  hint: Child;
  t: T;
  children?: Child;
}

/** The answer about a file, which the script copies and fills in. */
const Template = ({ name, tone, icon, title, hint, t, children }: Answer) => (
  <template id={`verify-${name}`}>
    <figure>
      <img data-preview data-if="image" alt={t("verify_preview")} />
      <div class="void" data-if="video">
        <Icon name="film" />
      </div>
      <figcaption class="meta pt">
        <span data-slot="name" /> · <span class="num" data-slot="size" />
      </figcaption>
    </figure>
    <div>
      <div class={`answer ${tone}`}>
        <Icon name={icon} />
        <div>
          <h2>{title}</h2>
          <p class="muted">{hint}</p>
        </div>
      </div>
      {children}
    </div>
  </template>
);

/** The question for programs. */
const ForMachines = ({ t, origin, name }: { t: T; origin: string; name: string }) => (
  <details class="more gap0">
    <summary>{t("verify_machines")}</summary>
    <div class="pt">
      <Code name={name} tabs={[{ id: name, title: "curl", code: `curl "${origin}/v1/verify/SHA256"` }]} />
    </div>
  </details>
);

/** A fault in place of an answer: nothing is known about the file. */
const Fault = ({ name, text }: { name: string; text: string }) => (
  <template id={`verify-${name}`}>
    <Note tone="bad">{text}</Note>
  </template>
);

const Templates = ({ t, origin }: { t: T; origin: string }) => (
  <>
    <Template name="made" tone="good" icon="check" title={t("verify_made")} hint={<span data-slot="when" />} t={t}>
      <ul class="checks gap0">
        <Check icon="ok" tone="ok" title={t("verify_known")} text={t("verify_known_hint")} />
        <Manifest t={t} />
        <Check icon="shield" title={t("verify_nobody")} text={t("verify_nobody_hint")} />
      </ul>
      <ForMachines t={t} origin={origin} name="verify-made-curl" />
    </Template>
    <Template name="unknown" tone="warn" icon="search" title={t("verify_unknown")} hint={t("verify_unknown_hint")} t={t}>
      <ul class="checks gap0">
        <Check icon="bad" title={t("verify_no_fingerprint")} text={t("verify_no_fingerprint_hint")} />
        <Manifest t={t} />
      </ul>
      <ForMachines t={t} origin={origin} name="verify-unknown-curl" />
    </Template>
    <Fault name="busy" text={t("verify_busy")} />
    <Fault name="failed" text={t("verify_failed")} />
  </>
);

/** `GET /verify`, for everyone. */
export function verifyPage(c: ConsoleContext): Response | Promise<Response> {
  const { t } = c.var;
  const { origin } = new URL(c.req.url);
  return publicPage(c, {
    title: t("verify_nav"),
    description: t("verify_lead"),
    children: (
      <main id="main">
        <div class="vgrid" data-verify>
          <header>
            <h1>{t("verify_title")}</h1>
            <p>{t("verify_lead")}</p>
          </header>
          <label class="drop-big" hidden>
            <Icon name="upload" />
            <b>{t("verify_drop")}</b>
            <span class="meta">{t("verify_types")}</span>
            <input type="file" accept="image/png,image/jpeg,image/webp,video/mp4" aria-label={t("verify_file")} />
          </label>
          <noscript>
            <Note>
              <p>{t("verify_no_script")}</p>
              <ol class="steps-plain">
                <li>
                  <code>sha256sum FILE</code> (Windows: <code>certutil -hashfile FILE SHA256</code>)
                </li>
                <li>
                  <code>{`${origin}/v1/verify/SHA256`}</code>
                </li>
              </ol>
            </Note>
          </noscript>
          <section id="proof" class="card proof" aria-live="polite" aria-label={t("verify_answer")} hidden />
          <section class="cols">
            {(["no", "credential", "not"] as const).map((name) => (
              <div>
                <h2>{t(`verify_about_${name}`)}</h2>
                <p class="muted">{t(`verify_about_${name}_text`)}</p>
              </div>
            ))}
          </section>
          <p>
            <a href="/docs/marks">{t("verify_docs")}</a>
          </p>
        </div>
        <Templates t={t} origin={origin} />
        <script src={hashedPath("credentials.js")} type="module" />
        <script src={hashedPath("manifest.js")} type="module" />
        <script src={hashedPath("verify.js")} type="module" />
      </main>
    ),
  });
}
