/** Teams: invitations, roles, several accounts of a user, leaving; and what an attacker would try. Contract 18. */

import "../../support/alone.ts";
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toBatchObjectId } from "../../../src/base/ids.ts";
import { asAdmin, call, holdTime, unique } from "../../support/gateway.ts";
import { Browser, mailbox } from "../support.ts";

holdTime();

const password = "correct horse battery";
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
const tokenIn = (html: string) => /invitation=(join_\w+)/.exec(html)?.[1] ?? "";
const rowOf = (sql: string, ...values: string[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .first<Record<string, unknown>>();
const membershipOf = async (email: string, accountId: string) =>
  rowOf("SELECT m.* FROM membership m JOIN auth_user u ON u.id = m.user_id WHERE u.email = ?1 AND m.account_id = ?2", email, accountId);
const accountOf = async (email: string) => (await rowOf("SELECT id FROM account WHERE email = ?1", email))!.id as string;
const namesIn = async (accountId: string) =>
  (await env.DB.prepare("SELECT act FROM audit_log WHERE account_id = ?1 ORDER BY at").bind(accountId).all<{ act: string }>()).results.map(
    ({ act }) => act,
  );

/** A new user with an account of their own. */
async function newUser() {
  const browser = new Browser();
  const email = await browser.signUp(password);
  return { browser, email, accountId: await accountOf(email) };
}
type User = Awaited<ReturnType<typeof newUser>>;

/** Lets a manager invite an address, and returns the token. */
async function inviteBy({ browser }: Pick<User, "browser">, email: string, role: string): Promise<string> {
  const answer = await browser.ask("/console/members/invite", { email, role });
  expect(answer.status).toBe(200);
  return tokenIn(await answer.text());
}

/** A member of an account with this role, who has no account of their own. */
async function newMember(owner: User, role: string): Promise<User> {
  const email = `${unique()}@example.com`;
  const token = await inviteBy(owner, email, role);
  const browser = new Browser();
  expect((await browser.ask("/console/sign-up", { name: "Paul", email, password, invitation: token })).status).toBe(303);
  expect(await membershipOf(email, owner.accountId)).toMatchObject({ role, disabled: 0 });
  pass(1);
  return { browser, email, accountId: owner.accountId };
}

const pathOf = async (user: User) => `/console/members/${(await membershipOf(user.email, user.accountId))!.id}`;
/** A key of the user, made in the console. */
async function newKey({ browser }: User): Promise<string> {
  const answer = await browser.ask("/console/keys", { name: "mine" });
  return /sk-\w{49}/.exec(await answer.text())![0];
}
const works = async (key: string) => (await call("/v1/balance", { key })).status;

test("a user invited by e-mail joins with the role, once, and spends from the account", async () => {
  const owner = await newUser();
  const before = await owner.browser.read("/console/members");
  expect(before).toContain(owner.email);
  const paul = await newMember(owner, "member");
  expect(await owner.browser.read("/console/members")).toContain(paul.email);
  expect(await paul.browser.read("/console/members")).toContain(owner.email);
  await paul.browser.ask("/console/sign-out", {});
  expect((await paul.browser.ask("/console/sign-in", { email: paul.email, password })).status).toBe(303);
  expect(await namesIn(owner.accountId)).toEqual(expect.arrayContaining(["member_invited", "member_joined", "signed_in"]));
  // No account of the member's own was opened.
  expect(await rowOf("SELECT count(*) AS n FROM account WHERE email = ?1", paul.email)).toEqual({ n: 0 });
  expect(await works(await newKey(paul))).toBe(200);
});

test("a replaced invitation opens no account, also where sign-up is open, and its page says that it was replaced", async () => {
  const owner = await newUser();
  const email = `${unique()}@example.com`;
  const earlier = await inviteBy(owner, email, "member");
  const later = await inviteBy(owner, email, "viewer");
  const browser = new Browser();
  const page = await browser.ask(`/console/sign-up?invitation=${earlier}`);
  expect([page.status, await page.text()]).toEqual([403, expect.stringContaining("Ask for a new one")]);
  const form = { name: "Paul", email, password };
  expect((await browser.ask("/console/sign-up", { ...form, invitation: earlier })).status).toBe(403);
  expect(await rowOf("SELECT count(*) AS n FROM auth_user WHERE email = ?1", email)).toEqual({ n: 0 });
  expect((await browser.ask("/console/sign-up", { ...form, invitation: later })).status).toBe(303);
  expect(await membershipOf(email, owner.accountId)).toMatchObject({ role: "viewer" });
});

test("the mail of an invitation has its link, in the language of who invites; without mail the page has it", async () => {
  const owner = await newUser();
  const { emails: sent, vars } = mailbox();
  const browser = new Browser(vars);
  expect((await browser.ask("/console/sign-in", { email: owner.email, password })).status).toBe(303);
  const subjects: Record<string, string> = {};
  for (const language of ["en", "zh", "ko", "ja"]) {
    const email = `${unique()}@example.com`;
    const form = { email, role: "member" };
    const page = await (await browser.ask("/console/members/invite", form, undefined, { "accept-language": language })).text();
    const mail = sent.at(-1)!;
    expect(mail.to).toBe(email);
    expect(mail.text).toContain(`https://gateway.example/console/join?invitation=${tokenIn(page)}`);
    expect(mail.html).toContain(`<html lang="${language}">`);
    subjects[language] = mail.subject;
  }
  expect(new Set(Object.values(subjects)).size).toBe(4);
});

test("a user who signs up by a join link joins after confirming the address, where e-mail is sent", async () => {
  const owner = await newUser();
  const { emails: sent, vars: mail } = mailbox();
  const vars = { ...mail, SIGNUP: "invite" };
  const form = { link: "For all", role: "member", people: "5", days: "5" };
  const invitation = tokenIn(await (await owner.browser.ask("/console/members/link", form)).text());
  const email = `${unique()}@example.com`;
  const guest = new Browser(vars);
  expect((await guest.ask("/console/sign-up", { name: "Guest", email, password, invitation })).status).toBe(200);
  expect(await membershipOf(email, owner.accountId)).toBeNull();
  const link = new URL(/https:\S+/.exec(sent.at(-1)!.text)![0]);
  const confirmed = await guest.ask("/console/sign-in", { email, password, to: link.pathname + link.search });
  const join = `/console/join?invitation=${invitation}`;
  expect(confirmed.headers.get("location")).toBe(join);
  // Opened again, the link goes on to the same page.
  expect((await guest.ask(link.pathname + link.search)).headers.get("location")).toBe(join);
  expect(await guest.read(join)).toContain("As Member");
  expect((await guest.ask("/console/join", { invitation })).status).toBe(303);
  expect(await membershipOf(email, owner.accountId)).toMatchObject({ role: "member" });
  // A user who signed up before e-mail was sent, and has not confirmed the address, joins no further account.
  const [early, other] = [await newUser(), await newUser()];
  const browser = new Browser(vars);
  expect((await browser.ask("/console/sign-in", { email: early.email, password })).status).toBe(303);
  const second = await inviteBy(other, early.email, "member");
  for (const answer of [
    await browser.ask(`/console/join?invitation=${second}`),
    await browser.ask("/console/join", { invitation: second }),
  ])
    expect(answer.headers.get("location")).toBe("/console/confirm");
  expect(await membershipOf(early.email, other.accountId)).toBeNull();
});

test("a user who signs up by a join link and loses the e-mail sets a password by another e-mail, and joins by the link", async () => {
  const owner = await newUser();
  const { emails: sent, vars } = mailbox();
  const guest = new Browser({ ...vars, SIGNUP: "invite" });
  const form = { link: "For all", role: "member", people: "5", days: "5" };
  const invitation = tokenIn(await (await owner.browser.ask("/console/members/link", form)).text());
  const email = `${unique()}@example.com`;
  await guest.ask("/console/sign-up", { name: "Guest", email, password, invitation });
  await guest.ask("/console/forgot", { email });
  const token = new URL(/https:\S+/.exec(sent.at(-1)!.text)![0]).searchParams.get("token")!;
  expect((await guest.ask("/console/reset", { token, password })).status).toBe(303);
  expect((await guest.ask("/console/sign-in", { email, password })).headers.get("location")).toBe("/console");
  const closed = await guest.ask("/console");
  expect([closed.status, await closed.text()]).toEqual([403, expect.stringContaining("Open the link of an invitation")]);
  expect((await guest.ask("/console/join", { invitation })).status).toBe(303);
  expect(await membershipOf(email, owner.accountId)).toMatchObject({ role: "member" });
});

test("a name with line breaks makes no paragraph and no link of its own in the mail of an invitation, and mails are limited", async () => {
  const owner = await newUser();
  const { emails: sent, vars } = mailbox();
  const browser = new Browser(vars);
  expect((await browser.ask("/console/sign-in", { email: owner.email, password })).status).toBe(303);
  const name = "Acme\r\n\r\nhttps://evil.example/\n\nBcc: all@example.com";
  expect((await browser.ask("/console/members/name", { "account-name": name })).status).toBe(303);
  const invite = (email: string) => browser.ask("/console/members/invite", { email, role: "member" });
  const email = `${unique()}@example.com`;
  for (let attempt = 0; attempt < 5; attempt++) expect((await invite(email)).status).toBe(200);
  const [{ subject, text, html } = { subject: "", text: "", html: "" }] = sent;
  expect(subject).toBe("Invitation to Acme https://evil.example/ Bcc: all@example.com at gateway.example");
  expect(text.split("\n\n")).toHaveLength(3);
  expect(html).not.toContain('href="https://evil.example');
  // The address has had five; another account is refused, too, and the link of the last mail goes on working.
  const refused = await invite(email);
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("Too many attempts. Try again in an hour")]);
  const page = await browser.read("/console/members/invitations");
  const [, id = ""] = /invitations\/(minv_\w+)\/again/.exec(page) ?? [];
  expect((await browser.ask(`/console/members/invitations/${id}/again`, {})).status).toBe(429);
  expect(sent).toHaveLength(5);
  expect((await new Browser().ask(`/console/join?invitation=${tokenIn(sent.at(-1)!.text)}`)).headers.get("location")).toContain("sign-up");
  expect((await new Browser().ask(`/console/sign-up?invitation=${tokenIn(sent.at(-1)!.text)}`)).status).toBe(200);
  for (let count = 0; count < 95; count++) {
    const answer = await invite(`${unique()}@example.com`);
    if (answer.status === 429) break;
  }
  expect(sent.length).toBeGreaterThan(95);
  expect((await invite(`${unique()}@example.com`)).status).toBe(429);
  pass(3_600_000);
  expect((await invite(email)).status).toBe(200);
});

test("an invitation works once, for its address, and until it ends or is withdrawn", async () => {
  const owner = await newUser();
  const email = `${unique()}@example.com`;
  const token = await inviteBy(owner, email, "admin");
  const stranger = await newUser();
  const tryIt = (user: User, invitation: string) => user.browser.ask("/console/join", { invitation });
  expect((await stranger.browser.ask(`/console/join?invitation=${token}`)).status).toBe(403);
  expect((await tryIt(stranger, token)).status).toBe(403);
  // The address in a form is not believed either: the invitation's is used.
  const third = new Browser();
  await third.ask("/console/sign-up", { name: "X", email: `${unique()}@example.com`, password, invitation: token });
  expect(await membershipOf(email, owner.accountId)).toMatchObject({ role: "admin" });
  expect((await tryIt(stranger, token)).status).toBe(403);
  expect((await third.ask("/console/join", { invitation: token })).status).toBe(403);

  const late = await inviteBy(owner, stranger.email, "member");
  const withdrawn = /invitations\/(minv_\w+)\/withdraw/.exec(await owner.browser.read("/console/members"))![1];
  expect((await owner.browser.ask(`/console/members/invitations/${withdrawn}/withdraw`, {})).status).toBe(303);
  expect((await tryIt(stranger, late)).status).toBe(403);
  const ended = await inviteBy(owner, stranger.email, "member");
  pass(7 * 86_400_000);
  expect((await tryIt(stranger, ended)).status).toBe(403);
  expect(await membershipOf(stranger.email, owner.accountId)).toBeNull();
});

test("an invitation is sent again with a new link, and the old one ends; a link for several people is not sent", async () => {
  const owner = await newUser();
  const guest = await newUser();
  const early = await inviteBy(owner, guest.email, "member");
  const list = await owner.browser.read("/console/members");
  const path = /\/console\/members\/invitations\/minv_\w+\/again/.exec(list)![0];
  const late = tokenIn(await (await owner.browser.ask(path, {})).text());
  expect((await owner.browser.ask(path, {})).status, "replaced").toBe(404);
  expect((await guest.browser.ask("/console/join", { invitation: early })).status).toBe(403);
  expect((await guest.browser.ask("/console/join", { invitation: late })).status).toBe(303);
  await owner.browser.ask("/console/members/link", { link: "Workshop", people: "2", days: "1", role: "viewer" });
  expect(await owner.browser.read("/console/members")).not.toContain("/again");
  // An owner's invitation is an owner's matter.
  const admin = await newMember(owner, "admin");
  await inviteBy(owner, `${unique()}@example.com`, "owner");
  const id = /invitations\/(minv_\w+)\/again/.exec(await owner.browser.read("/console/members"))![1];
  expect(await admin.browser.read("/console/members")).not.toContain(`${id}/again`);
  expect((await admin.browser.ask(`/console/members/invitations/${id}/again`, {})).status).toBe(403);
});

test("roles are changed in place, and the audit log says it in a sentence that leads to the member", async () => {
  const owner = await newUser();
  const member = await newMember(owner, "member");
  const path = await pathOf(member);
  const shown = await owner.browser.read("/console/members");
  expect(shown).toContain(`<form method="post" action="${path}/role" class="row inplace">`);
  expect(shown).not.toContain(`action="${await pathOf(owner)}/role"`);
  expect(await member.browser.read("/console/members")).not.toContain("/role");
  expect((await owner.browser.ask(`${path}/role`, { role: "viewer" })).status).toBe(303);
  await owner.browser.ask(`${path}/budget`, { budget: "5", window: "month" });
  const log = await owner.browser.read("/console/audit-log?kind=members");
  expect(log).toContain(`<a href="/console/members#${path.split("/").at(-1)}">Changed the role of ${member.email}</a>`);
  expect(log).toContain("<del>Member</del> → Viewer");
  const money = await owner.browser.read("/console/audit-log?kind=money");
  for (const part of [`Changed the budget of ${member.email}`, "<del>No limit</del> → $5.00 / month (UTC)"]) expect(money).toContain(part);
});

test("a link is for so many people, also if they come at the same time, and never for an admin", async () => {
  const owner = await newUser();
  const link = { link: "Workshop", people: "2", days: "1" };
  for (const role of ["admin", "owner"]) expect((await owner.browser.ask("/console/members/link", { ...link, role })).status).toBe(400);
  const token = tokenIn(await (await owner.browser.ask("/console/members/link", { ...link, role: "viewer" })).text());
  const guests = await Promise.all(Array.from({ length: 4 }, () => newUser()));
  const joined = await Promise.all(guests.map(({ browser }) => browser.ask("/console/join", { invitation: token })));
  expect(joined.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 303, 403, 403]);
  expect(await rowOf("SELECT uses FROM member_invitation WHERE account_id = ?1", owner.accountId)).toEqual({ uses: 2 });
});

test("a user of several accounts switches between them; an account one is not a member of cannot be chosen", async () => {
  const [owner, guest, other] = [await newUser(), await newUser(), await newUser()];
  const token = await inviteBy(owner, guest.email, "viewer");
  expect(await guest.browser.read(`/console/join?invitation=${token}`)).toContain("Join");
  expect((await guest.browser.ask("/console/join", { invitation: token })).status).toBe(303);
  const shown = async () => /gateway_account=(acc_\w+)|name="account" value="(acc_\w+)"/.exec(await guest.browser.read("/console"))?.[2];
  expect(await shown()).toBe(guest.accountId);
  expect((await guest.browser.ask("/console/switch", { account: guest.accountId })).status).toBe(303);
  expect(await shown()).toBe(owner.accountId);
  for (const account of [other.accountId, "acc_unknown", "", "' OR 1=1 --"])
    expect((await guest.browser.ask("/console/switch", { account })).status, account).toBe(404);
  // A forged cookie is only a wish.
  const forged = { cookie: [...guest.browser.cookies].map(([n, v]) => `${n}=${n === "gateway_account" ? other.accountId : v}`).join("; ") };
  const page = await (await guest.browser.ask("/console/members", undefined, null, forged)).text();
  expect(page).toContain(guest.email);
  expect(page).not.toContain(other.email);
});

test("a viewer's direct POSTs change nothing, and so do a member's outside of what is the member's own", async () => {
  const owner = await newUser();
  const [viewer, member] = [await newMember(owner, "viewer"), await newMember(owner, "member")];
  const key = await newKey(owner);
  const keyId = (await rowOf("SELECT id FROM api_key WHERE account_id = ?1 AND name = 'mine'", owner.accountId))!.id as string;
  const before = await env.DB.prepare("SELECT * FROM api_key WHERE account_id = ?1 AND name = 'mine'").bind(owner.accountId).all();
  const ownerPath = await pathOf(owner);
  for (const [path, form] of [
    ["/console/webhooks", { url: "https://attacker.example/" }],
    [`${ownerPath}/role`, { role: "viewer" }],
    [`${ownerPath}/remove`, {}],
    ["/console/members/invite", { email: "friend@example.com", role: "admin" }],
    ["/console/members/name", { "account-name": "Mine" }],
    [`${await pathOf(viewer)}/role`, { role: "owner" }],
    [`${await pathOf(member)}/role`, { role: "admin" }],
    [`${await pathOf(member)}/budget`, { budget: "", window: "day" }],
    ["/console/admin/accounts", { email: "x@example.com" }],
  ] as const)
    for (const { browser } of [viewer, member]) expect([path, (await browser.ask(path, form)).status]).toEqual([path, 403]);
  expect((await viewer.browser.ask("/console/keys", { name: "viewer's" })).status).toBe(403);
  expect((await viewer.browser.ask("/console/playground", { model: "imgA-4", prompt: "x" })).status).toBe(403);
  for (const act of ["change", "rotate", "delete"])
    expect((await member.browser.ask(`/console/keys/${keyId}/${act}`, { name: "theirs", overlap: "now" })).status, act).toBe(404);
  expect(
    (await env.DB.prepare("SELECT * FROM api_key WHERE account_id = ?1 AND name = 'mine'").bind(owner.accountId).all()).results,
  ).toEqual(before.results);
  expect(await works(key)).toBe(200);
});

test("an admin changes members below the owner, and makes nobody an owner", async () => {
  const owner = await newUser();
  const [admin, member] = [await newMember(owner, "admin"), await newMember(owner, "member")];
  const memberPath = await pathOf(member);
  expect((await admin.browser.ask(`${memberPath}/role`, { role: "owner" })).status).toBe(400);
  expect((await admin.browser.ask(`${await pathOf(admin)}/role`, { role: "owner" })).status).toBe(400);
  for (const act of ["role", "disable", "remove", "budget"])
    expect((await admin.browser.ask(`${await pathOf(owner)}/${act}`, { role: "viewer" })).status, act).toBe(403);
  expect((await admin.browser.ask("/console/members/invite", { email: "x@example.com", role: "owner" })).status).toBe(400);
  expect((await admin.browser.ask(`${memberPath}/role`, { role: "admin" })).status).toBe(303);
  expect(await membershipOf(member.email, owner.accountId)).toMatchObject({ role: "admin" });
});

test("an admin sees an owner's keys and changes none of them, and withdraws no invitation to be an owner", async () => {
  const owner = await newUser();
  const [admin, member] = [await newMember(owner, "admin"), await newMember(owner, "member")];
  const makeKey = async (user: User) => {
    const name = unique();
    await user.browser.ask("/console/keys", { name });
    return { name, path: `/console/keys/${(await rowOf("SELECT id FROM api_key WHERE name = ?1", name))!.id as string}` };
  };
  const [owners, admins, members] = [await makeKey(owner), await makeKey(admin), await makeKey(member)];
  const listed = await admin.browser.read("/console/keys");
  expect(listed).toContain(owners.name);
  expect(listed).not.toContain(`${owners.path}/`);
  for (const { path } of [admins, members]) expect(listed).toContain(`${path}/rotate`);
  const changes: [act: string, form: Record<string, string>][] = [
    ["change", { name: "x" }],
    ["pause", {}],
    ["resume", {}],
    ["send", {}],
    ["rotate", { overlap: "day" }],
    ["delete", {}],
  ];
  for (const [act, form] of changes) {
    const answer = await admin.browser.ask(owners.path + `/${act}`, form);
    expect([act, answer.status, await answer.text()]).toEqual([act, 403, expect.not.stringMatching(/sk-\w{49}/)]);
  }
  for (const act of ["change", "rotate", "delete"]) expect((await admin.browser.ask(`${owners.path}/${act}`)).status, act).toBe(403);
  expect(await rowOf("SELECT deleted_at, paused_at, expires_at FROM api_key WHERE name = ?1", owners.name)).toEqual({
    deleted_at: null,
    paused_at: null,
    expires_at: null,
  });
  const search = await admin.browser.read(`/console/search?q=${owners.name}`);
  expect(search).toContain(owners.name);
  expect(search).not.toContain(owners.path);
  for (const { path } of [admins, members]) expect((await admin.browser.ask(`${path}/rotate`, { overlap: "day" })).status).toBe(200);
  for (const { path } of [admins, members]) expect((await owner.browser.ask(`${path}/delete`, {})).status).toBe(303);
  // A key that an operator made belongs to the account, whose admins manage it.
  const made = await asAdmin(`/accounts/${owner.accountId}/keys`, { body: { name: "account's", quota: null } });
  expect((await admin.browser.ask(`/console/keys/${made.body.id}/rotate`, { overlap: "day" })).status).toBe(200);

  const heir = await newUser();
  const invitation = await inviteBy(owner, heir.email, "owner");
  const { id } = (await rowOf("SELECT id FROM member_invitation WHERE email = ?1", heir.email)) as { id: string };
  expect(await admin.browser.read("/console/members/invitations")).not.toContain(`${id}/withdraw`);
  expect((await admin.browser.ask(`/console/members/invitations/${id}/withdraw`, {})).status).toBe(403);
  expect((await heir.browser.ask("/console/join", { invitation })).status).toBe(303);
});

test("a demoted admin with an old session may do nothing of it any more", async () => {
  const owner = await newUser();
  const admin = await newMember(owner, "admin");
  expect((await admin.browser.ask("/console/audit-log")).status).toBe(200);
  expect((await owner.browser.ask(`${await pathOf(admin)}/role`, { role: "viewer" })).status).toBe(303);
  for (const path of ["/console/audit-log", "/console/webhooks", await pathOf(admin)])
    expect((await admin.browser.ask(path)).status, path).toBe(403);
  expect((await admin.browser.ask("/console/members/invite", { email: "x@example.com", role: "viewer" })).status).toBe(403);
});

test("a disabled member's pages, keys and client tokens stop, tasks stay, and all works again when enabled", async () => {
  const owner = await newUser();
  await env.DB.prepare("UPDATE wallet SET quota = 100000000 WHERE id = ?1").bind(owner.accountId).run();
  const paul = await newMember(owner, "member");
  const key = await newKey(paul);
  const { body: token } = await call("/v1/tokens", { key, body: { tasks: 2, max_cost: 1, expires_in: 3600 } });
  expect(token.token).toMatch(/^st-/);
  const { body: task } = await call("/v1/images/generations", { key, body: { model: "imgA-4", prompt: unique() } });
  expect((await owner.browser.ask(`${await pathOf(paul)}/disable`, {})).status).toBe(303);
  pass(9_000);
  expect(await works(key)).toBe(401);
  expect((await call("/v1/images/generations", { key: token.token, body: { model: "imgA-4", prompt: "x" } })).status).toBe(401);
  expect((await paul.browser.ask("/console")).status).toBe(403);
  expect((await paul.browser.ask("/console/keys", { name: "more" })).status).toBe(403);
  expect(await owner.browser.read("/console/tasks")).toContain(task.id);
  expect((await owner.browser.ask(`${await pathOf(paul)}/enable`, {})).status).toBe(303);
  pass(9_000);
  expect(await works(key)).toBe(200);
  // A viewer runs nothing: the keys rest.
  await owner.browser.ask(`${await pathOf(paul)}/role`, { role: "viewer" });
  pass(9_000);
  expect(await works(key)).toBe(401);
});

test("a removed member loses keys and access permanently, and cannot join by an old link", async () => {
  const owner = await newUser();
  const paul = await newMember(owner, "member");
  const key = await newKey(paul);
  const form = { link: "Workshop", people: "9", days: "1", role: "member" };
  const link = tokenIn(await (await owner.browser.ask("/console/members/link", form)).text());
  const conversations = "SELECT count(*) AS n FROM conversation WHERE account_id = ?1";
  await env.DB.prepare(
    "INSERT INTO conversation SELECT 'conv_' || id, ?2, id, 'A question', 1, '[]' FROM auth_user WHERE email IN (?1, ?3)",
  )
    .bind(paul.email, owner.accountId, owner.email)
    .run();
  expect(await owner.browser.read(`${await pathOf(paul)}/remove`)).toContain(paul.email);
  expect((await owner.browser.ask(`${await pathOf(paul)}/remove`, {})).status).toBe(303);
  pass(9_000);
  expect(await works(key)).toBe(401);
  expect((await paul.browser.ask("/console/join", { invitation: link })).status).toBe(403);
  expect(await membershipOf(paul.email, owner.accountId)).toBeNull();
  expect(await env.DB.prepare(conversations).bind(owner.accountId).first("n"), "the owner's stays").toBe(1);
  const again = await inviteBy(owner, paul.email, "member");
  expect((await paul.browser.ask("/console/join", { invitation: again })).status).toBe(303);
  pass(9_000);
  expect(await works(key), "an old key does not come back").toBe(401);
});

test("a batch begun in the console stops with its user's right to run it, and with the account", async () => {
  const owner = await newUser();
  await env.DB.prepare("UPDATE wallet SET quota = 100000000 WHERE id = ?1").bind(owner.accountId).run();
  const begin = async ({ browser }: User) => {
    const line = { custom_id: "a", endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt: unique() } };
    const form = new FormData();
    form.set("file", new File([JSON.stringify(line)], "lines.jsonl", { type: "application/jsonl" }));
    const [file] = /file_[\w-]+/.exec((await browser.ask("/console/batches/file", form)).headers.get("location")!)!;
    const fields = { file, key: unique(), max_cost: "1", concurrency: "5", callback_url: "", reference: "" };
    const id = (await browser.ask("/console/batches", fields)).headers.get("location")!.split("/").at(-1)!;
    const objectId = toBatchObjectId(env.BATCHES, id);
    if (!objectId) throw new Error(`no batch: ${id}`);
    return env.BATCHES.get(objectId);
  };
  /** What becomes of the line of a batch whose user loses the right before it begins. */
  const lineAfter = async (user: User, change: () => Promise<unknown>) => {
    const batch = await begin(user);
    await runDurableObjectAlarm(batch);
    await change();
    pass(9_000);
    for (let turn = 0; turn < 3; turn++) await runDurableObjectAlarm(batch);
    const { text } = (await batch.results(owner.accountId, 0))!;
    return text === "" ? "runs" : (JSON.parse(text) as { error: { code: string } }).error.code;
  };
  const member = () => newMember(owner, "member");
  const send = async (path: string, fields: Record<string, string> = {}) =>
    expect((await owner.browser.ask(path, fields)).status).toBe(303);
  expect(await lineAfter(await member(), () => Promise.resolve())).toBe("runs");
  const [disabled, removed, viewer] = [await member(), await member(), await member()];
  expect(await lineAfter(disabled, async () => send(`${await pathOf(disabled)}/disable`))).toBe("unauthorized");
  expect(await lineAfter(removed, async () => send(`${await pathOf(removed)}/remove`))).toBe("unauthorized");
  expect(await lineAfter(viewer, async () => send(`${await pathOf(viewer)}/role`, { role: "viewer" }))).toBe("unauthorized");
  const disable = () => asAdmin(`/accounts/${owner.accountId}`, { method: "PATCH", body: { disabled: true } });
  expect(await lineAfter(owner, disable)).toBe("unauthorized");
});

test.each([
  ["removed", "remove", {}],
  ["disabled", "disable", {}],
  ["made a member", "role", { role: "member" }],
])("the invitations of an admin who is %s end, and so do links", async (_, act, form) => {
  const owner = await newUser();
  const admin = await newMember(owner, "admin");
  const [guest, other] = [await newUser(), await newUser()];
  const fromAdmin = await inviteBy(admin, guest.email, "admin");
  const fromOwner = await inviteBy(owner, other.email, "member");
  const linkForm = { link: "Workshop", people: "9", days: "1", role: "member" };
  const link = tokenIn(await (await owner.browser.ask("/console/members/link", linkForm)).text());
  const path = await pathOf(admin);
  expect((await owner.browser.ask(`${path}/${act}`, form)).status).toBe(303);
  for (const invitation of [fromAdmin, link]) expect((await guest.browser.ask("/console/join", { invitation })).status).toBe(403);
  expect((await other.browser.ask("/console/join", { invitation: fromOwner })).status).toBe(303);
  if (act === "disable") expect((await owner.browser.ask(`${path}/enable`, {})).status).toBe(303);
  expect((await guest.browser.ask("/console/join", { invitation: fromAdmin })).status, "for good").toBe(403);
});

test("an owner who becomes an admin makes nobody an owner by an earlier invitation", async () => {
  const owner = await newUser();
  const second = await newMember(owner, "owner");
  const [guest, friend] = [await newUser(), await newUser()];
  const [asOwner, asMember] = [await inviteBy(second, guest.email, "owner"), await inviteBy(second, friend.email, "member")];
  expect((await owner.browser.ask(`${await pathOf(second)}/role`, { role: "admin" })).status).toBe(303);
  expect((await guest.browser.ask("/console/join", { invitation: asOwner })).status).toBe(403);
  expect((await friend.browser.ask("/console/join", { invitation: asMember })).status).toBe(303);
});

test("an admin's invitation does not replace an owner's to be an owner; an invitation that is refused replaces none", async () => {
  const owner = await newUser();
  const admin = await newMember(owner, "admin");
  const [heir, guest] = [await newUser(), await newUser()];
  const asOwner = await inviteBy(owner, heir.email, "owner");
  const refused = await admin.browser.ask("/console/members/invite", { email: heir.email, role: "member" });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("an owner has invited this address")]);
  const first = await inviteBy(owner, guest.email, "viewer");
  const count = "SELECT count(*) AS n FROM member_invitation WHERE account_id = ?1";
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
     INSERT INTO member_invitation (id, account_id, token_hash, role, email, max_uses, invited_by, created_at, expires_at)
     SELECT 'minv_' || i, ?1, i, 'viewer', i || '@example.com', 1, 'u', ?2, ?2 + 1000000 FROM n`,
  )
    .bind(owner.accountId, Date.now())
    .run();
  expect(await rowOf(count, owner.accountId)).toEqual({ n: 100 });
  const full = await owner.browser.ask("/console/members/invite", { email: `${unique()}@example.com`, role: "viewer" });
  expect(full.status).toBe(400);
  // One for the same address takes the place of the first.
  const again = await inviteBy(owner, guest.email, "member");
  expect(await rowOf(count, owner.accountId)).toEqual({ n: 100 });
  expect((await guest.browser.ask("/console/join", { invitation: first })).status).toBe(403);
  expect((await guest.browser.ask("/console/join", { invitation: again })).status).toBe(303);
  expect((await heir.browser.ask("/console/join", { invitation: asOwner })).status).toBe(303);
  expect(await membershipOf(heir.email, owner.accountId)).toMatchObject({ role: "owner" });
});

test("the last owner cannot leave or step down; of two who leave at once one stays", async () => {
  const owner = await newUser();
  expect((await owner.browser.ask("/console/members/leave", {})).status).toBe(400);
  expect((await owner.browser.ask(`${await pathOf(owner)}/role`, { role: "viewer" })).status).toBe(400);
  const second = await newMember(owner, "owner");
  const paths = [await pathOf(owner), await pathOf(second)];
  const left = await Promise.all([owner, second].map(({ browser }) => browser.ask("/console/members/leave", {})));
  expect(left.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400]);
  const owners = "SELECT count(*) AS n FROM membership WHERE account_id = ?1 AND role = 'owner' AND disabled = 0";
  expect(await rowOf(owners, owner.accountId)).toEqual({ n: 1 });
  expect(paths).toHaveLength(2);
});

test("ownership is handed over: the old owner leaves, does not come back by the account's address, and gets an account of their own", async () => {
  const owner = await newUser();
  const heir = await newMember(owner, "admin");
  expect((await owner.browser.ask(`${await pathOf(heir)}/role`, { role: "owner" })).status).toBe(303);
  await env.DB.prepare("UPDATE auth_user SET emailVerified = 1 WHERE email = ?1").bind(owner.email).run();
  pass(1);
  expect((await owner.browser.ask("/console/members/leave", {})).status).toBe(303);
  await owner.browser.read("/console");
  expect(await membershipOf(owner.email, owner.accountId)).toBeNull();
  expect(await accountOf(heir.email)).toBe(owner.accountId);
  expect(await accountOf(owner.email)).not.toBe(owner.accountId);
  expect((await namesIn(owner.accountId)).slice(-2)).toEqual(["role_changed", "member_left"]);
});

test("a viewer or member of an operator's account is no operator", async () => {
  const owner = await newUser();
  await env.DB.prepare("UPDATE account SET admin = 1 WHERE id = ?1").bind(owner.accountId).run();
  const [member, admin] = [await newMember(owner, "member"), await newMember(owner, "admin")];
  expect((await owner.browser.ask("/console/admin")).status).toBe(200);
  expect((await admin.browser.ask("/console/admin")).status).toBe(200);
  expect((await member.browser.ask("/console/admin")).status).toBe(403);
  expect(await member.browser.read("/console/members")).not.toContain('href="/console/admin"');
});

test("changes of how a user signs in, and wrong passwords, are logged in the user's accounts", async () => {
  const owner = await newUser();
  const { id: userId } = (await rowOf("SELECT id FROM auth_user WHERE email = ?1", owner.email)) as { id: string };
  const wrong = () => new Browser().ask("/console/sign-in", { email: owner.email, password: "a wrong password" });
  expect((await wrong()).status).toBe(401);
  await new Browser().ask("/console/sign-in", { email: `${unique()}@example.com`, password });
  const changed = await owner.browser.ask("/console/account/password", { old: password, new: "another horse battery" });
  expect(changed.headers.get("location")).toBe("/console/account?done=password");
  const change = (sql: string, ...values: string[]) =>
    env.DB.prepare(sql)
      .bind(...values)
      .run();
  await change(
    "INSERT INTO auth_passkey (id, name, publicKey, userId, credentialID, counter, deviceType, backedUp) VALUES (?1, 'Phone', 'k', ?2, ?1, 0, 'd', 0)",
    unique(),
    userId,
  );
  await change("DELETE FROM auth_passkey WHERE userId = ?1", userId);
  await change(
    "INSERT INTO auth_account (id, userId, accountId, providerId, createdAt, updatedAt) VALUES (?1, ?2, 'a', 'github', '2026', '2026')",
    unique(),
    userId,
  );
  await change("DELETE FROM auth_account WHERE userId = ?1 AND providerId = 'github'", userId);
  const email = `${unique()}@example.com`;
  await change("UPDATE auth_user SET email = ?2 WHERE id = ?1", userId, email);
  await change("UPDATE account SET email = ?2 WHERE id = ?1", owner.accountId, email);
  await vi.waitFor(async () => expect(await namesIn(owner.accountId)).toContain("sign_in_failed"));
  expect(await namesIn(owner.accountId)).toEqual(
    expect.arrayContaining([
      "sign_in_failed",
      "password_changed",
      "passkey_added",
      "passkey_removed",
      "login_added",
      "login_removed",
      "address_changed",
      "account_address_changed",
    ]),
  );
  const failed = await rowOf(
    "SELECT actor, address, target, after FROM audit_log WHERE account_id = ?1 AND act = 'sign_in_failed'",
    owner.accountId,
  );
  expect(failed).toMatchObject({
    actor: "system",
    address: expect.stringMatching(/^2001:db8:/),
    target: userId,
    after: '{"login":"password"}',
  });
  const page = await owner.browser.read("/console/audit-log?kind=sign_in");
  for (const text of ["Changed the password", `A sign-in of ${email} failed`, "Someone"]) expect(page).toContain(text);
  // Many wrong passwords do not fill the log.
  for (let turn = 0; turn < 25; turn++) await new Browser().ask("/console/sign-in", { email, password: "a wrong password" });
  expect((await namesIn(owner.accountId)).filter((act) => act === "sign_in_failed").length).toBeLessThanOrEqual(20);
});

test("an operator reads the log of an account and of none in the console", async () => {
  const [operator, other] = [await newUser(), await newUser()];
  await env.DB.prepare("UPDATE account SET admin = 1 WHERE id = ?1").bind(operator.accountId).run();
  await newKey(other);
  const path = "/console/admin/audit-log";
  expect(await operator.browser.read(`${path}?account=${other.accountId}`)).toContain("Created the key");
  expect(await operator.browser.read(path)).not.toContain("Created the key");
  expect((await other.browser.ask(path)).status).toBe(404);
});

test("the page of the audit log narrows, and its CSV holds every entry without secrets", async () => {
  const owner = await newUser();
  const key = await newKey(owner);
  const page = await owner.browser.read("/console/audit-log?kind=keys");
  expect(page).toContain("Created the key");
  expect(page).not.toContain("Signed in");
  expect(page).not.toContain(key);
  const answer = await owner.browser.ask("/console/audit-log/log.csv");
  expect(answer.headers.get("content-type")).toContain("text/csv");
  const csv = await answer.text();
  expect(csv.trim().split("\r\n").length - 1).toBe((await namesIn(owner.accountId)).length);
  expect(csv).toContain("key_created,user,");
  expect(csv).not.toContain(key);
  const member = await newMember(owner, "member");
  for (const path of ["/console/audit-log", "/console/audit-log/log.csv"]) expect((await member.browser.ask(path)).status).toBe(403);
});
