/** On the account page: the user's sessions, and ending them. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { askAuth, follow } from "../ask-auth.ts";
import { authSettings, signedIn, nothingHere } from "../frame.tsx";
import { Button, DateTime, parseBrowser, SectionHead, Table } from "../parts/index.ts";

const listSessions = (c: ConsoleContext) => c.env.AUTH.listSessions(authSettings(c), c.var.user.id);

/** The table of sessions, with the current one marked, and a button that ends all. */
export async function sessionsSection(c: ConsoleContext) {
  const { t } = c.var;
  const sessions = (await listSessions(c)).sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime());
  return (
    <section>
      <SectionHead title={t("sessions")}>
        <form method="post" action="/console/account/sessions/end" class="push">
          <Button class="btn sm" text={t("sign_out_everywhere")} />
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
                  <Button class="btn sm" aria-label={`${t("end_session")}: ${parseBrowser(userAgent)}`} text={t("end_session")} />
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
