/** The first image of a new account: one field, one price, one button, and what was made in its place. `POST /console/first` */

import { maxPrompt } from "../../catalog/schemas.ts";
import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { readError, readTask, readTaskId } from "../answers.ts";
import { readForm } from "../forms.ts";
import { isScripted, page, part } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import { type FirstCallFacts, firstBody, Sent } from "../keys/first-call.tsx";
import { Button, Note, taskPath } from "../parts/index.ts";
import { FrameBalance } from "../playground/page.tsx";
import { left } from "../playground/view.ts";
import { hashedPath } from "../static-files.ts";
import { submitOnce } from "../tasks/request.ts";

const path = "/console/first";
const imagesPath = "/v1/images/generations";
const examples = ["example_fox", "example_teapot", "example_paper"] as const;

interface FirstImageProps extends FirstCallFacts {
  c: ConsoleContext;
  /** The prompt that the address chose, among the examples. */
  prompt: string | undefined;
}

export const FirstImage = ({ c, price, time, prompt }: FirstImageProps) => {
  const { t } = c.var;
  return (
    <section class="card flush first" aria-labelledby="first-title">
      <div>
        <h2 id="first-title">{t("first_image")}</h2>
        <p class="muted">{t("first_image_lead", { time, price })}</p>
        <form
          method="post"
          action={path}
          class="stack tight gap0"
          data-once
          hx-post={path}
          hx-target="#first-made"
          hx-swap="innerHTML"
          hx-sync="this:drop"
          hx-config="timeout:90000"
          hx-indicator="#first-run"
        >
          <input type="hidden" name="key" value={crypto.randomUUID()} autocomplete="off" />
          <textarea class="in" name="prompt" rows={3} maxlength={maxPrompt.image} aria-label={t("task_prompt")} required>
            {prompt ?? t("example_lighthouse")}
          </textarea>
          <div class="chips">
            {examples.map((example) => (
              <a class="chip" href={`/console?example=${example}`} aria-current={prompt === t(example) ? "true" : undefined}>
                {t(example)}
              </a>
            ))}
          </div>
          <Button class="btn primary full" id="first-run" icon="wand" text={t("run_for", { price })} />
        </form>
      </div>
      <div id="first-made" aria-live="polite">
        <img src={hashedPath("hills.webp")} alt="" width={1920} height={1080} />
      </div>
    </section>
  );
};

/** The prompt of the example that the address names. */
export const chosenExample = (c: ConsoleContext): string | undefined => {
  const chosen = examples.find((example) => example === c.req.query("example"));
  return chosen && c.var.t(chosen);
};

/** Makes the image: with script it is shown in place once it is there, with the page's steps after it; else on its own page, which waits for it. */
export async function makeFirst(c: ConsoleContext, readSteps: (left: number | null) => Promise<Child>): Promise<Response> {
  const scripted = isScripted(c);
  const field = await readForm(c);
  const prompt = field("prompt").replaceAll("\r\n", "\n").slice(0, maxPrompt.image);
  const answer = await submitOnce(c, field("key"), {
    path: scripted ? `${imagesPath}?wait=60` : imagesPath,
    body: { ...firstBody, prompt },
  });
  if (!answer.ok) {
    const note = <Note tone="bad">{(await readError(answer)).message}</Note>;
    return scripted ? part(c, note) : page(c, c.var.t("first_image"), note, 400, { width: "slim" });
  }
  const id = await readTaskId(answer);
  if (!scripted) return c.redirect(`/console/tasks/${id}`, 303);
  const task = await readTask(await askGateway(c, taskPath(id)));
  const remaining = await left(c);
  return part(
    c,
    <>
      <Sent task={task} prompt={prompt} done={c.var.t("first_made")} />
      <FrameBalance remaining={remaining} />
      {task.status === "completed" && (await readSteps(remaining))}
    </>,
  );
}
