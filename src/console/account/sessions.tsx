/** On the account page: the user's sessions, and ending them. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { askAuth, follow } from "../ask-auth.ts";
import { authSettings, signedIn, nothingHere } from "../frame.tsx";
import { DateTime } from "../parts/date-time.tsx";
import { SectionHead } from "../parts/section-head.tsx";
import { Table } from "../parts/table.tsx";

/** Browsers whose user agent also contains another browser's name come first. */
const browsers = { Edg: "Edge", OPR: "Opera", Firefox: "Firefox", Chrome: "Chrome", Safari: "Safari" };
const systems = {
  Android: "Android",
  iPhone: "iPhone",
  iPad: "iPad",
  Windows: "Windows",
  "Mac OS": "macOS",
  CrOS: "ChromeOS",
  Linux: "Linux",
};

/** The browser and system of a user agent, or the beginning of its text. */
function parseBrowser(userAgent: string | null): string {
  if (!userAgent) return "-";
  const find = (names: object) => Object.entries(names).find(([mark]) => userAgent.includes(mark))?.[1] as string | undefined;
  return [find(browsers), find(systems)].filter(Boolean).join(", ") || userAgent.slice(0, 60);
}

const listSessions = (c: ConsoleContext) => c.env.AUTH.listSessions(authSettings(c), c.var.user.id);

/** The table of sessions, with the current one marked, and a button that ends all. */
export async function sessionsSection(c: ConsoleContext) {
  const { t } = c.var;
  const sessions = (await listSessions(c)).sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime());
  return (
    <section>
      <SectionHead title={t("sessions")}>
        <form method="post" action="/console/account/sessions/end" class="push">
          <button class="btn sm">{t("sign_out_everywhere")}</button>
        </form>
      </SectionHead>
      <Table
        label={t("sessions")}
        columns={[t("browser"), { name: t("since"), isExtra: true }, { name: t("last_seen"), isExtra: true }, { name: "", isNumber: true }]}
      >
        {sessions.map(({ id, userAgent, createdAt, updatedAt }) => (
          <tr>
            <th scope="row">{parseBrowser(userAgent)}</th>
            <td class="hide-s">
              <DateTime ms={createdAt.getTime()} />
            </td>
            <td class="hide-s">
              <DateTime ms={updatedAt.getTime()} />
            </td>
            <td class="num">
              {id === c.var.session.id ? (
                <span class="tag">{t("this_session")}</span>
              ) : (
                <form method="post" action={`/console/account/sessions/${id}/end`}>
                  <button class="btn sm" aria-label={`${t("end_session")}: ${parseBrowser(userAgent)}`}>
                    {t("end_session")}
                  </button>
                </form>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

export const sessions = new Hono<ConsoleEnvironment>()
  .post("/account/sessions/end", signedIn, async (c) => {
    await askAuth(c, "/revoke-sessions", {});
    return follow(c, await askAuth(c, "/sign-out", {}), "/console/sign-in");
  })
  .post("/account/sessions/:id/end", signedIn, async (c) => {
    const session = (await listSessions(c)).find(({ id }) => id === c.req.param("id"));
    if (!session) return nothingHere(c);
    await askAuth(c, "/revoke-session", { token: session.token });
    return c.redirect("/console/account?done=session_ended", 303);
  });
