/** For an account without tasks: three steps, examples to open in the playground, a first request. */

import type { ConsoleContext } from "../context.ts";
import type { FirstCallFacts } from "../keys/first-call.tsx";
import { Filled, Icon, Link, Money, SectionHead, useAround } from "../parts/index.ts";
import { landingSample } from "../site/docs.ts";
import { Html } from "../site/html.tsx";
import { chosenExample, FirstImage } from "./first-image.tsx";

/** The examples, by the keys of their prompts, each with a suitable model. */
const examples = [
  { prompt: "example_lighthouse", model: "imgA-4", icon: "image" },
  { prompt: "example_fox", model: "imgC-3-pro-image-preview", icon: "image" },
  { prompt: "example_waves", model: "vidA-2", icon: "film" },
  { prompt: "example_city", model: "vidB-3.1-fast", icon: "film" },
] as const;

interface StepProps {
  number: number;
  isDone: boolean;
  title: string;
  hint: unknown;
  link?: { href: string; text: string; isNext: boolean };
}

const Step = ({ number, isDone, title, hint, link }: StepProps) => (
  <li class={isDone ? "done" : undefined}>
    <span class="n">{isDone ? <Icon name="check" /> : number}</span>
    <div>
      <b>{title}</b>
      <p>{hint}</p>
    </div>
    {link && !isDone && <Link class={link.isNext ? "btn primary" : "btn"} href={link.href} text={link.text} />}
  </li>
);

interface StepsProps {
  left: number | null;
  isKeyed: boolean;
  hasMade: boolean;
  /** True if the first image can be made on the same page. */
  isBeside?: boolean;
  /** True if it replaces that of the page. */
  isSwapped?: boolean;
}

/** The three steps. They disappear when all are done. */
export const FirstSteps = ({ left, isKeyed, hasMade, isBeside = false, isSwapped = false }: StepsProps) => {
  const { t } = useAround();
  return (
    <section class="card flush" id="first-steps" hx-swap-oob={isSwapped ? "true" : undefined}>
      <ol class="steps">
        <Step
          number={1}
          isDone
          title={t("step_account")}
          hint={<Filled message="balance_is" by={{ amount: <Money millionths={left} /> }} />}
        />
        <Step
          number={2}
          isDone={hasMade}
          title={t("step_make")}
          hint={t("step_make_hint")}
          link={{ href: "/console/playground", text: t("open_playground"), isNext: !isBeside }}
        />
        <Step
          number={3}
          isDone={isKeyed}
          title={t("step_call")}
          hint={t("step_call_hint")}
          link={{ href: "/console/keys", text: t("create_key"), isNext: hasMade }}
        />
      </ol>
    </section>
  );
};

interface FirstThingsProps {
  c: ConsoleContext;
  left: number | null;
  isKeyed: boolean;
  /** Of the first image; undefined if its model is not available, or if the user may make none. */
  first: FirstCallFacts | undefined;
}

/** The whole page of an account without tasks. */
export const FirstThings = ({ c, left, isKeyed, first }: FirstThingsProps) => {
  const { t } = c.var;
  return (
    <>
      {first && <FirstImage c={c} {...first} prompt={chosenExample(c)} />}
      <div class="duo gap">
        <section>
          <SectionHead title={t("first_request")} />
          <Html html={landingSample(c)} />
        </section>
        <section>
          <SectionHead title={t("first_steps")} />
          <FirstSteps left={left} isKeyed={isKeyed} hasMade={false} isBeside={first !== undefined} />
        </section>
      </div>
      <section>
        <SectionHead title={t("start_from_example")} />
        <ul class="cols two">
          {examples.map(({ prompt, model, icon }) => (
            <li>
              <a class="card hit example" href={`/console/playground?${new URLSearchParams({ model, prompt: t(prompt) })}`}>
                <Icon name={icon} />
                <span>
                  {t(prompt)}
                  <span class="meta">{model}</span>
                </span>
              </a>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
};
