/** A chat as a conversation: the messages so far, the arriving answer, the input line. */

import { Button, Copy, Markdown, useAround } from "../parts/index.ts";
import { Attach, Attached, AttachedDraft } from "./attached.tsx";
import { type Message, messagesIn } from "./body.ts";
import { Examples } from "./examples.tsx";
import type { View } from "./view.ts";

/** An answer that is arriving, or was sent within the page. */
export interface Answering {
  /** The text inside the element; while the answer arrives, a marker that the arriving text replaces. */
  text: string;
}

/** Hidden inputs with a message's values, sent with the next message. */
const Values = ({ at, role, content, used, images }: Message & { at: number }) => (
  <>
    <input type="hidden" form="form" name={`messages.${at}.role`} value={role} />
    <input type="hidden" form="form" name={`messages.${at}.content`} value={content} />
    {used !== "" && <input type="hidden" form="form" name={`messages.${at}.used`} value={used} />}
    {images.map((image, place) => (
      <input type="hidden" form="form" name={`messages.${at}.image.${place}`} value={image} />
    ))}
  </>
);

/** `written` replaces an answer whose text was sent within the page while it arrived. */
const Turn = ({ at, message, written, isLast }: { at: number; message: Message; written?: string | undefined; isLast: boolean }) => {
  const { t } = useAround();
  const { role, content, used, images } = message;
  return (
    <li>
      {role === "user" ? (
        <>
          <Attached images={images} />
          {content !== "" && <div class="said me-said">{content}</div>}
        </>
      ) : (
        <>
          {written === undefined ? (
            <div class="said" id={`said-${at}`}>
              <Markdown text={content} id={`said-${at}`} />
            </div>
          ) : (
            <Arriving text={written} />
          )}
          <p class="meta num row">
            {used}
            <Copy of={`said-${at}`} />
            {isLast && <Button class="btn sm" form="form" name="do" value="again" data-send icon="again" text={t("ask_again")} />}
          </p>
        </>
      )}
      <Values at={at} {...message} />
    </li>
  );
};

const Arriving = ({ text }: { text: string }) => (
  <div class="said plain-said" id="answer" role="group" aria-label={useAround().t("answer")}>
    {text}
  </div>
);

/** The messages after the instructions. */
export function parseTurns(view: Pick<View, "typed">): Message[] {
  const messages = messagesIn("messages", view.typed);
  return messages[0] && ["system", "developer"].includes(messages[0].role) ? messages.slice(1) : messages;
}

/** The messages that have been sent. A last user message without an answer is unsent: the input line shows it. */
const sentTurns = (turns: Message[], isAnswering: boolean) => (turns.at(-1)?.role === "user" && !isAnswering ? turns.slice(0, -1) : turns);

export function Conversation({ view, answering }: { view: View; answering?: Answering | undefined }) {
  const turns = sentTurns(parseTurns(view), answering !== undefined);
  const isWritten = turns.at(-1)?.role === "assistant" && answering !== undefined;
  return (
    <div class="body" id="result" data-conversation>
      {turns.length === 0 ? (
        <Examples kind="chat" />
      ) : (
        <ol class="chat">
          {turns.map((message, at) => (
            <Turn
              at={at + 1}
              message={message}
              isLast={at === turns.length - 1}
              written={isWritten && at === turns.length - 1 ? answering?.text : undefined}
            />
          ))}
          {answering && !isWritten && (
            <li>
              <Arriving text={answering.text} />
            </li>
          )}
        </ol>
      )}
    </div>
  );
}

/** The input line, with the button that sends it; while an answer arrives, the button that stops it. */
export function Composer({ view, isAnswering = false, isSwapped }: { view: View; isAnswering?: boolean; isSwapped?: boolean }) {
  const { t } = useAround();
  const all = parseTurns(view);
  const turns = sentTurns(all, isAnswering);
  const draft = all.length > turns.length ? all.at(-1) : undefined;
  const name = `messages.${turns.length + 1}`;
  return (
    <div class="composer" id="composer" {...(isSwapped && { "hx-swap-oob": "true" })}>
      <div>
        <label class="vh" for="f-say">
          {t("message")}
        </label>
        <input type="hidden" form="form" name={`${name}.role`} value="user" />
        <textarea
          class="in"
          id="f-say"
          form="form"
          name={`${name}.content`}
          rows={1}
          placeholder={t("ask_something")}
          aria-invalid={view.problems.has("messages") ? "true" : undefined}
        >
          {draft?.content}
        </textarea>
        <AttachedDraft name={name} images={draft?.images ?? []} />
        <div class="row">
          {!isAnswering && <Attach name={name} />}
          {isAnswering ? (
            <Button class="btn sm push" type="button" id="stop" icon="stop" text={t("stop")} />
          ) : (
            <button class="btn primary sm push" form="form" name="do" value="run" id="send" data-send>
              {t("send")}
              <kbd>Ctrl ↵</kbd>
            </button>
          )}
        </div>
      </div>
    </div>
  );
}
