/** `/console/chat`: asking, asking again, stopping, going on with one answer, and the title, export and deletion of a conversation. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { findHelper } from "../billing/credit.tsx";
import { readForm, readFormData } from "../forms.ts";
import { Hono } from "hono";
import type { Child } from "hono/jsx";
import { newId } from "../../base/ids.ts";
import {
  deleteConversation,
  findConversation,
  insertConversation,
  listConversations,
  type Owner,
  renameConversation,
  updateConversation,
} from "../../db/conversations.ts";
import { isScripted, nothingHere, page, partText, signedIn } from "../frame.tsx";
import { computeHold } from "../playground/body.ts";
import { toTextStream } from "../playground/chat.ts";
import { readChoices } from "../playground/choices.ts";
import { Balance } from "../playground/page.tsx";
import { left } from "../playground/view.ts";
import { Title } from "../shell/layout.tsx";
import { hashedPath } from "../static-files.ts";
import { askModels } from "./answers.ts";
import {
  ask,
  lastModels,
  maxModels,
  maxStored,
  maxTitle,
  messagesFor,
  parseTurns,
  type Reply,
  toTitle,
  toMarkdown,
  type Turn,
} from "./record.ts";
import { type Room, roomPath, Rooms } from "./view.tsx";
import { Question } from "../parts/question.tsx";
import type { PageStatus } from "../page-status.ts";

const owner = (c: ConsoleContext): Owner => ({ accountId: c.var.account.id, userId: c.var.user.id });

/** The open conversation, or a new one with these models. */
interface Shown {
  open: Room["open"];
  turns: Turn[];
  models: string[];
}

async function find(c: ConsoleContext, id: string): Promise<Required<Shown> | undefined> {
  const row = await findConversation(c.env.DB, owner(c), id);
  if (!row) return undefined;
  const turns = parseTurns(row.turns);
  return { open: { id, title: row.title, at: row.at }, turns, models: lastModels(turns) };
}

const readChats = async (c: ConsoleContext) => (await readChoices(c)).filter(({ action }) => action === "chat");
type Chats = Awaited<ReturnType<typeof readChats>>;

/** These models, without repeats and unknown ones; at least one. */
function usable(models: string[], chats: Chats): string[] {
  const known = models.flatMap((name) => chats.find(({ id, aliases }) => id === name || aliases.includes(name))?.id ?? []);
  return known.length > 0 ? [...new Set(known)].slice(0, maxModels) : chats.slice(0, 1).map(({ id }) => id);
}

/** What the next question reserves at most. */
function sumHolds(chats: Chats, turns: Turn[], models: string[]): number | null {
  const next = [...turns, ask("?", models)];
  const amounts = models.map((model) => {
    const choice = chats.find(({ id }) => id === model);
    return choice ? computeHold(choice, { messages: messagesFor(next, model) }) : null;
  });
  return amounts.reduce<number | null>((sum, amount) => (sum === null || amount === null ? null : sum + amount), 0);
}

async function readRoom(c: ConsoleContext, chats: Chats, shown: Shown, more: Partial<Room> = {}): Promise<Room> {
  const models = usable(shown.models, chats);
  const amount = sumHolds(chats, shown.turns, models);
  const [list, balance] = await Promise.all([listConversations(c.env.DB, owner(c)), left(c)]);
  return {
    ...shown,
    models,
    list,
    choices: chats,
    amount,
    tooDear: balance !== null && balance < (amount ?? 0) ? { left: balance, helper: await findHelper(c) } : undefined,
    draft: "",
    problem: undefined,
    isAnswering: false,
    now: Date.now(),
    ...more,
  };
}

const titleOf = (c: ConsoleContext, { open }: Room) => open?.title ?? c.var.t("chat");

const roomPage = (c: ConsoleContext, room: Room, status: PageStatus = 200) =>
  page(
    c,
    titleOf(c, room),
    <>
      <h1 class="vh">{c.var.t("chat")}</h1>
      <Rooms room={room} />
      <script src={hashedPath("events.js")} type="module" />
      <script src={hashedPath("conversation.js")} type="module" />
    </>,
    status,
    { width: "bare", bar: c.var.t("chat") },
  );

/** The page for its script, which swaps it. */
const roomText = (c: ConsoleContext, room: Room, more?: Child) =>
  partText(
    c,
    <>
      <Title title={titleOf(c, room)} />
      <Rooms room={room} />
      {more}
    </>,
  );

/** `GET /console/chat?model=` and `/console/chat/{id}` */
async function open(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const id = c.req.param("id");
  const shown = id === undefined ? { open: undefined, turns: [], models: c.req.queries("model") ?? [] } : await find(c, id);
  if (!shown) return nothingHere(c);
  const chats = await readChats(c);
  if (chats.length === 0) return page(c, t("chat"), t("no_models"));
  return roomPage(c, await readRoom(c, chats, shown, { draft: c.req.query("say") ?? "" }));
}

/** What a form asks for: the turns after it, or a page to show again. */
type Asked = { turns: Turn[]; answers: boolean } | { models: string[] } | { problem: string };

/** What the form's button does to the conversation. */
function toAsked(c: ConsoleContext, form: FormData, { turns }: Shown, models: string[], chats: Chats): Asked {
  const { t } = c.var;
  const text = (name: string) => {
    const value = form.get(name);
    return typeof value === "string" ? value.replaceAll("\r\n", "\n") : "";
  };
  const said = text("say").trim();
  const last = turns.at(-1);
  const [way, number = ""] = text("do").split("-");
  switch (way) {
    case "add": {
      const next = chats.find(({ id }) => !models.includes(id));
      return { models: next ? [...models, next.id] : models };
    }
    case "drop":
      return { models: models.filter((_, at) => at !== Number(number)) };
    case "go":
      if (!last?.replies[Number(number)]) return { problem: t("chat_changed") };
      return { turns: [...turns.slice(0, -1), { ...last, chosen: Number(number) }], answers: false };
    case "stopped": {
      const texts = form.getAll("text").map((value) => (typeof value === "string" ? value : ""));
      const replies = last?.replies.map((reply, of): Reply => ({ model: reply.model, text: texts[of] ?? "", state: "stopped" })) ?? [];
      return { turns: last ? [...turns.slice(0, -1), { question: last.question, replies }] : turns, answers: false };
    }
    case "again":
      return last ? { turns: [...turns.slice(0, -1), ask(last.question, models)], answers: true } : { problem: t("chat_nothing_said") };
    case "edit":
      return said === ""
        ? { problem: t("chat_nothing_said") }
        : { turns: [...turns.slice(0, Number(text("turn"))), ask(said, models)], answers: true };
    default:
      return said === "" ? { problem: t("chat_nothing_said") } : { turns: [...turns, ask(said, models)], answers: true };
  }
}

/** Stores the turns: in a new conversation, or in the open one if it is at the revision that the page showed. undefined if it is not. */
async function store(
  c: ConsoleContext,
  { open: before }: Pick<Shown, "open">,
  turns: Turn[],
): Promise<NonNullable<Room["open"]> | undefined> {
  const text = JSON.stringify(turns);
  const now = Date.now();
  if (!before) {
    const room = { id: newId("conv_"), title: toTitle(turns[0]?.question ?? ""), at: now };
    await insertConversation(c.env.DB, owner(c), { ...room, turns: text });
    return room;
  }
  const room = { ...before, at: Math.max(now, before.at + 1) };
  return (await updateConversation(c.env.DB, owner(c), { ...room, turns: text }, before.at)) ? room : undefined;
}

/** `POST /console/chat` and `/console/chat/{id}` */
async function answer(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const id = c.req.param("id");
  const form = await readFormData(c);
  const found = id === undefined ? { open: undefined, turns: [], models: [] } : await find(c, id);
  if (!found) return nothingHere(c);
  const chats = await readChats(c);
  if (chats.length === 0) return page(c, t("chat"), t("no_models"));
  const models = usable(
    [...form.getAll("model").filter((value) => typeof value === "string"), ...(form.has("model") ? [] : found.models)],
    chats,
  );
  const typed = form.get("say");
  const draft = typeof typed === "string" ? typed : "";
  const show = async (more: Partial<Room>, status: PageStatus) => {
    const room = await readRoom(c, chats, { ...found, models }, { draft, ...more });
    return isScripted(c) ? c.html(roomText(c, room)) : roomPage(c, room, status);
  };
  const isStale = found.open !== undefined && form.get("at") !== String(found.open.at);
  const asked = toAsked(c, form, found, models, chats);
  if ("models" in asked) return show({ models: usable(asked.models, chats) }, 200);
  if (isStale) return show({ problem: t("chat_changed") }, 409);
  if ("problem" in asked) return show({ problem: asked.problem }, 400);
  if (JSON.stringify(asked.turns).length > maxStored) return show({ problem: t("chat_full") }, 400);
  const stored = await store(c, found, asked.turns);
  if (!stored) return show({ problem: t("chat_changed") }, 409);
  const { turns } = asked;
  const shown = { open: stored, turns, models: asked.answers ? models : lastModels(turns) };
  if (!asked.answers) return isScripted(c) ? c.html(roomText(c, await readRoom(c, chats, shown))) : c.redirect(roomPath(stored.id), 303);
  const answers = askModels(c, chats, turns);
  const end = async (replies: Reply[]) => {
    const question = turns.at(-1)?.question ?? "";
    const ended = [...turns.slice(0, -1), { question, replies }];
    return (await store(c, shown, ended)) ?? stored;
  };
  if (c.req.header("accept") === "text/event-stream") return stream(c, chats, shown, answers, end);
  let next = await answers.next();
  while (!next.done) next = await answers.next();
  await end(next.value);
  return c.redirect(roomPath(stored.id), 303);
}

type Event = { html: string; path: string } | { of: number; text: string };

/** The page for its script: the question, the answers' texts as they arrive, and the page again. */
function stream(
  c: ConsoleContext,
  chats: Chats,
  shown: Shown & { open: NonNullable<Room["open"]> },
  answers: ReturnType<typeof askModels>,
  end: (replies: Reply[]) => Promise<NonNullable<Room["open"]>>,
): Response {
  const line = (event: Event) => `data: ${JSON.stringify(event)}\n\n`;
  const path = roomPath(shown.open.id);

  async function* events(): AsyncGenerator<string, void> {
    yield line({ html: roomText(c, await readRoom(c, chats, shown, { isAnswering: true })), path });
    try {
      let next = await answers.next();
      for (; !next.done; next = await answers.next()) yield line(next.value);
      const stored = await end(next.value);
      const now = (await find(c, stored.id)) ?? shown;
      const room = await readRoom(c, chats, { ...now, models: shown.models });
      yield line({
        html: roomText(c, room, <Balance remaining={await left(c)} />),
        path,
      });
    } finally {
      await answers.return([]);
    }
  }

  return c.body(toTextStream(events()), 200, { "content-type": "text/event-stream", "content-encoding": "identity" });
}

/** `POST /console/chat/{id}/title` */
async function rename(c: ConsoleContext): Promise<Response> {
  const id = c.req.param("id") ?? "";
  const found = await find(c, id);
  if (!found) return nothingHere(c);
  const title = (await readForm(c))("title").slice(0, maxTitle);
  if (title !== "") await renameConversation(c.env.DB, owner(c), id, title);
  return c.redirect(roomPath(id), 303);
}

/** `GET /console/chat/{id}/export` */
async function exported(c: ConsoleContext): Promise<Response> {
  const found = await find(c, c.req.param("id") ?? "");
  if (!found?.open) return nothingHere(c);
  const name = found.open.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "") || "chat";
  return c.body(toMarkdown(found.open.title, found.turns, { question: c.var.t("chat_question") }), 200, {
    "content-type": "text/markdown; charset=utf-8",
    "content-disposition": `attachment; filename="chat.md"; filename*=UTF-8''${encodeURIComponent(name)}.md`,
  });
}

async function askDelete(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const found = await find(c, c.req.param("id") ?? "");
  if (!found?.open) return nothingHere(c);
  return page(
    c,
    t("chat_delete", { title: found.open.title }),
    <Question text={t("chat_delete_warning")} yes={t("delete")} back={roomPath(found.open.id)} />,
    200,
    { width: "slim" },
  );
}

export const chat = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", open)
  .post("/", answer)
  .get("/:id", open)
  .post("/:id", answer)
  .post("/:id/title", rename)
  .get("/:id/export", exported)
  .get("/:id/delete", askDelete)
  .post("/:id/delete", async (c) => {
    const isDeleted = await deleteConversation(c.env.DB, owner(c), c.req.param("id"));
    return isDeleted ? c.redirect("/console/chat", 303) : nothingHere(c);
  });
