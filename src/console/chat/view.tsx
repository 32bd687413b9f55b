/** The chat page: the user's conversations by day, the open one with its answers, side by side if several models answer, and the input line. */

import { roundedAmount } from "../amounts.ts";
import type { ConversationRow } from "../../db/conversations.ts";
import { Button, Copy, Icon, Link, Markdown, Note, useAround } from "../parts/index.ts";
import { OutOfBalance, type OutOfBalanceProps } from "../parts/out-of-balance.tsx";
import type { Choice } from "../playground/choices.ts";
import { maxModels, maxTitle, type Reply, type Turn } from "./record.ts";
import { dayMs } from "../../base/times.ts";

/** Everything that the page shows. */
export interface Room {
  list: Omit<ConversationRow, "turns">[];
  /** The open conversation; undefined for a new one. */
  open: { id: string; title: string; at: number } | undefined;
  turns: Turn[];
  /** The models that answer the next question. */
  models: string[];
  choices: Choice[];
  /** Millionths that the next question reserves at most; null if it is unknown. */
  amount: number | null;
  /** What to do if the balance does not cover that. */
  tooDear: OutOfBalanceProps | undefined;
  /** What is typed and not sent. */
  draft: string;
  problem: string | undefined;
  /** True while the last question's answers arrive. */
  isAnswering: boolean;
  now: number;
}

export const roomPath = (id: string) => `/console/chat/${id}`;

/** The heading over a conversation in the list, by its day. */
function toDay(at: number, now: number) {
  const days = Math.floor(now / dayMs) - Math.floor(at / dayMs);
  return days <= 0 ? "today" : days === 1 ? "chat_yesterday" : days < 7 ? "chat_week" : "older";
}

const List = ({ room: { list, open, now } }: { room: Room }) => {
  const { t } = useAround();
  return (
    <nav id="rooms-list" popover="auto" aria-label={t("chat_list")}>
      <Link class="btn sm" href="/console/chat" icon="plus" text={t("new_chat")} />
      {list.length === 0 && <p class="meta">{t("chat_none")}</p>}
      {[...Map.groupBy(list, ({ at }) => toDay(at, now))].map(([day, rooms]) => (
        <>
          <h2 id={day}>{t(day)}</h2>
          <ul aria-labelledby={day}>
            {rooms.map(({ id, title }) => (
              <li>
                <a class="clip" href={roomPath(id)} aria-current={id === open?.id ? "page" : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </>
      ))}
    </nav>
  );
};

/** The models that answer, as choices of the form, with what adds and removes one. */
const Models = ({ room: { models, choices } }: { room: Room }) => {
  const { t } = useAround();
  return (
    <>
      {models.map((model, at) => (
        <span class="row tight">
          <select
            class="in sm"
            form="say"
            name="model"
            aria-label={models.length > 1 ? `${t("model")} ${at + 1}` : t("model")}
            autocomplete="off"
          >
            {choices.map(({ id }) => (
              <option value={id} selected={id === model}>
                {id}
              </option>
            ))}
          </select>
          {models.length > 1 && (
            <Button
              class="btn ghost icon sm"
              form="say"
              name="do"
              value={`drop-${at}`}
              formnovalidate
              aria-label={t("chat_remove", { model })}
              icon="x"
            />
          )}
        </span>
      ))}
      {models.length < Math.min(maxModels, choices.length) && (
        <Button
          class="btn ghost sm"
          form="say"
          name="do"
          value="add"
          formnovalidate
          icon="plus"
          text={t(models.length > 1 ? "add_model" : "chat_side_by_side")}
        />
      )}
    </>
  );
};

const Head = ({ room }: { room: Room }) => {
  const { t } = useAround();
  const { open } = room;
  return (
    <header>
      <Button class="btn ghost icon sm list-button" type="button" popovertarget="rooms-list" aria-label={t("chat_list")} icon="list" />
      <h2 class="clip">{open?.title ?? t("new_chat")}</h2>
      <span class="push row">
        <Models room={room} />
        {open && (
          <>
            <Link
              class="btn ghost icon sm"
              href={`${roomPath(open.id)}/export`}
              download
              aria-label={t("chat_export")}
              title={t("chat_export")}
              icon="down"
            />
            <Button class="btn ghost icon sm" type="button" popovertarget="room-menu" aria-label={t("chat_more")} icon="more" />
            <div class="menu room-menu" id="room-menu" popover="auto">
              <form class="stack tight" method="post" action={`${roomPath(open.id)}/title`}>
                <label for="f-title">{t("chat_title")}</label>
                <input class="in" id="f-title" name="title" value={open.title} maxlength={maxTitle} required />
                <span class="row between">
                  <Button class="btn sm" text={t("save")} />
                  <Link class="btn ghost sm danger" href={`${roomPath(open.id)}/delete`} text={t("delete")} />
                </span>
              </form>
            </div>
          </>
        )}
      </span>
    </header>
  );
};

/** Below an answer: its cost, tokens and time, or why it is missing or cut off. */
const Used = ({ reply }: { reply: Reply }) => {
  const { t, language, unit } = useAround();
  const { model, state, use } = reply;
  if (use)
    return (
      <>
        {t("answer_used", {
          model,
          input: use.input,
          output: use.output,
          cost: roundedAmount(language, unit, use.cost),
          seconds: (use.ms / 1000).toFixed(1),
        })}
      </>
    );
  if (state === "refused") return <>{model}</>;
  return (
    <>
      {model} · {t(state === "stopped" ? "answer_stopped" : state === "broken" ? "answer_broken" : "chat_unanswered")}
    </>
  );
};

interface AnswerProps {
  reply: Reply;
  /** The numbers of the turn and of the answer. */
  turn: number;
  of: number;
  room: Room;
}

const Answer = ({ reply, turn, of, room }: AnswerProps) => {
  const { t } = useAround();
  const { turns, isAnswering, open } = room;
  const isLast = turn === turns.length - 1;
  const id = `said-${turn}-${of}`;
  if (isAnswering && isLast)
    return (
      <div class="reply">
        <div class="said plain-said" data-reply={of} role="group" aria-label={`${t("answer")}: ${reply.model}`} />
        <p class="meta row">{reply.model}</p>
      </div>
    );
  const rivals = turns[turn]?.replies.length ?? 1;
  const isChosen = turns[turn]?.chosen === of;
  return (
    <div class="reply">
      {reply.state === "refused" ? (
        <Note tone="bad">{reply.text}</Note>
      ) : (
        <div class="said" id={id}>
          <Markdown text={reply.text} id={id} />
        </div>
      )}
      <p class="meta num row">
        <Used reply={reply} />
        {reply.text !== "" && reply.state !== "refused" && <Copy of={id} label={`${t("copy")}: ${reply.model}`} isIcon />}
        {isLast && rivals > 1 && reply.state !== "refused" && reply.text !== "" && open && (
          <button class="btn sm push" form="say" name="do" value={`go-${of}`} formnovalidate aria-pressed={isChosen ? "true" : "false"}>
            {isChosen && <Icon name="check" />}
            {t(isChosen ? "chat_going_on" : "chat_go_on")}
          </button>
        )}
      </p>
    </div>
  );
};

const Question = ({ text, turn, room: { open, models, isAnswering } }: { text: string; turn: number; room: Room }) => {
  const { t } = useAround();
  return (
    <div class="question">
      <div class="me-said">{text}</div>
      {open && !isAnswering && (
        <details class="redo">
          <summary class="meta">
            <Icon name="pen" />
            {t("chat_edit")}
          </summary>
          <form class="stack tight" method="post" action={roomPath(open.id)} data-chat>
            <input type="hidden" name="at" value={open.at} />
            <input type="hidden" name="turn" value={turn} />
            {models.map((model) => (
              <input type="hidden" name="model" value={model} />
            ))}
            <textarea class="in" name="say" rows={3} required aria-label={t("chat_question")}>
              {text}
            </textarea>
            <p class="row end">
              <span class="meta">{t("chat_edit_hint")}</span>
              <Button class="btn sm" name="do" value="edit" text={t("ask_again")} />
            </p>
          </form>
        </details>
      )}
    </div>
  );
};

const Turns = ({ room }: { room: Room }) => {
  const { t } = useAround();
  const { turns, isAnswering } = room;
  return (
    <ol class="chat">
      {turns.map(({ question, replies }, turn) => (
        <li class={replies.length > 1 ? "several" : undefined}>
          <Question text={question} turn={turn} room={room} />
          <div class="replies" data-count={replies.length}>
            {replies.map((reply, of) => (
              <Answer reply={reply} turn={turn} of={of} room={room} />
            ))}
          </div>
          {turn === turns.length - 1 && !isAnswering && (
            <p class="row">
              <Button class="btn ghost sm" form="say" name="do" value="again" formnovalidate data-send icon="again" text={t("ask_again")} />
            </p>
          )}
        </li>
      ))}
    </ol>
  );
};

const Composer = ({ room }: { room: Room }) => {
  const { t, language, unit } = useAround();
  const { open, models, amount, tooDear, draft, problem, isAnswering } = room;
  return (
    <form class="composer" id="say" method="post" action={open ? roomPath(open.id) : "/console/chat"} data-chat>
      {problem !== undefined && (
        <Note tone="bad" role="alert">
          {problem}
        </Note>
      )}
      {/* While answers arrive, what they reserve is not left. */}
      {tooDear && !isAnswering && <OutOfBalance {...tooDear} />}
      <div>
        {open && <input type="hidden" name="at" value={open.at} autocomplete="off" />}
        {/* Enter in a field of the form sends it. */}
        <button class="vh" name="do" value="send" tabindex={-1} aria-hidden="true" disabled={isAnswering} />
        <label class="vh" for="f-say">
          {t("message")}
        </label>
        <textarea
          class="in"
          id="f-say"
          name="say"
          rows={1}
          placeholder={models.length > 1 ? t("chat_ask_all", { count: models.length }) : t("ask_something")}
        >
          {draft}
        </textarea>
        <div class="row">
          <span class="meta num">{amount !== null && t("chat_at_most", { price: roundedAmount(language, unit, amount) })}</span>
          {isAnswering ? (
            <Button class="btn sm push" type="button" id="stop" icon="stop" text={t("stop")} />
          ) : (
            <button class="btn primary sm push" name="do" value="send" id="send" data-send>
              {t("send")}
              <kbd>Ctrl ↵</kbd>
            </button>
          )}
        </div>
      </div>
    </form>
  );
};

/** The whole page below its title. */
export const Rooms = ({ room }: { room: Room }) => (
  <div class="rooms" id="rooms">
    <List room={room} />
    <section aria-label={room.open?.title ?? useAround().t("new_chat")}>
      <Head room={room} />
      <div class="body" id="talk">
        {room.turns.length === 0 ? <p class="start-hint">{useAround().t("chat_begin")}</p> : <Turns room={room} />}
      </div>
      <Composer room={room} />
    </section>
  </div>
);
