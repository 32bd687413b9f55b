/** What every page has: head, navigation, languages. */

import type { Child } from "hono/jsx";
import { type Language, languageNames, type Say } from "./messages.ts";

interface Page {
  title: string;
  language: Language;
  say: Say;
  /** Who is signed in. */
  email?: string | undefined;
  isAdmin?: boolean;
  /** An answer to a form: there is no coming back to its address in another language. */
  isAnswer?: boolean;
  children?: Child;
}

/** Where the navigation leads. */
const places = [
  { path: "/console", name: "overview" },
  { path: "/console/playground", name: "playground" },
  { path: "/console/tasks", name: "tasks" },
  { path: "/console/characters", name: "characters" },
  { path: "/console/usage", name: "usage" },
  { path: "/console/keys", name: "api_keys" },
  { path: "/console/account", name: "account" },
] as const;

/** A gate, in a colour that is seen on light and dark tabs. */
const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#3c8ae0" stroke-width="2"><path d="M2 15V8a6 6 0 0 1 12 0v7M6 15V8a2 2 0 0 1 4 0v7"/></svg>`;
const icon = `data:image/svg+xml,${encodeURIComponent(drawing)}`;

export const Layout = ({ title, language, say, email, isAdmin, isAnswer, children }: Page) => (
  <html lang={language}>
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${title} · ${say("console")}`}</title>
      <link rel="icon" href={icon} />
      <link rel="stylesheet" href="/console/static/pico.css" />
      <link rel="stylesheet" href="/console/static/console.css" />
      <script src="/console/static/htmx.js" defer />
      <script src="/console/static/console.js" type="module" />
    </head>
    <body>
      <header class="container">
        <nav aria-label={say("console")}>
          <ul>
            <li>
              <strong>{say("console")}</strong>
            </li>
            {email !== undefined && (
              <>
                {places.map(({ path, name }) => (
                  <li>
                    <a href={path}>{say(name)}</a>
                  </li>
                ))}
                {isAdmin && (
                  <li>
                    <a href="/console/admin">{say("admin")}</a>
                  </li>
                )}
              </>
            )}
          </ul>
          {email !== undefined && (
            <ul>
              <li>
                <form method="post" action="/console/sign-out">
                  <button class="secondary outline" title={email}>
                    {say("sign_out")}
                  </button>
                </form>
              </li>
            </ul>
          )}
        </nav>
      </header>
      <main class="container">
        <h1>{title}</h1>
        {children}
      </main>
      <footer class="container">
        <nav aria-label={say("language")}>
          <ul>
            {Object.entries(languageNames).map(([code, name]) => (
              <li>
                <a
                  href={`/console/language?to=${code}`}
                  lang={code}
                  hreflang={code}
                  aria-current={code === language ? "true" : undefined}
                  referrerpolicy={isAnswer ? "no-referrer" : undefined}
                >
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </footer>
    </body>
  </html>
);

/** A sentence about what was wrong with a form. */
export const Problem = ({ text }: { text: string | undefined }) => (text === undefined ? null : <p role="alert">{text}</p>);

/** A point in time, to the minute. */
export const Moment = ({ ms }: { ms: number }) => (
  <time datetime={new Date(ms).toISOString()}>{new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC</time>
);
