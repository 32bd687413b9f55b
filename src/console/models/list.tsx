/** `/console/models`: what each model makes, what it can do, its price, its present time and success; found by kind, ability and words; as cards, or as a table with the cost of some work. */

import { fileFamilies } from "../../base/words.ts";
import type { ConsoleContext } from "../context.ts";
import { type Outcomes, readOutcomes } from "../../db/settled-sums.ts";
import { percentText } from "../amounts.ts";
import { page } from "../frame.tsx";
import { withQuery } from "../list-address.ts";
import {
  Button,
  Choice as Menu,
  DataTable,
  Empty,
  Facts,
  Icon,
  kindIcons,
  Link,
  Money,
  NavLinks,
  Pill,
  SearchForm,
  SectionHead,
  TextField,
  useAround,
} from "../parts/index.ts";
import { type Choice, readChoices } from "../playground/choices.ts";
import { samplePath } from "../site/sample.tsx";
import { abilities, type Ability, listAbilities } from "./can.ts";
import { listPrices, usualTime } from "./prices.ts";
import { fromUnits } from "../../db/ledger.ts";
import { dayMs } from "../../base/times.ts";

const path = "/console/models";
const kinds = [...fileFamilies, "chat"] as const;
type Kind = (typeof kinds)[number];
/** With fewer ended tasks a share says nothing. */
const minEnded = 5;

/** The work that the table prices: what its fields ask for, with their defaults. */
const work = { images: 100, seconds: 60, input: 1_000_000, output: 1_000_000 } as const;
type Work = Record<keyof typeof work, number>;
const maxWork = 1_000_000_000;

interface Asked {
  q?: string | undefined;
  kind?: Kind | undefined;
  can?: Ability | undefined;
  as?: "table" | undefined;
}

const pathWith = (asked: Asked) => withQuery(path, { ...asked });

function parseAsked(c: ConsoleContext): Asked {
  return {
    q: c.req.query("q")?.trim().slice(0, 100) || undefined,
    kind: kinds.find((kind) => kind === c.req.query("kind")),
    can: abilities.find((ability) => ability === c.req.query("can")),
    as: c.req.query("as") === "table" ? "table" : undefined,
  };
}

/** A number of the calculator that is not one becomes its default. */
function parseWork(c: ConsoleContext): Work {
  const read = (name: keyof Work) => {
    const text = c.req.query(name) ?? "";
    return /^\d{1,10}$/.test(text) && Number(text) <= maxWork ? Number(text) : work[name];
  };
  return { images: read("images"), seconds: read("seconds"), input: read("input"), output: read("output") };
}

/** What this work costs with a model, in millionths: at its usual and at its highest quality. Work of another kind costs nothing to it. */
function costsOf({ price }: Choice, { images, seconds, input, output }: Work): number[] {
  const tokens = ((price["input_million_tokens"] ?? 0) * input + (price["output_million_tokens"] ?? 0) * output) / 1e6;
  const usual = (price["image"] ?? 0) * images + (price["second"] ?? 0) * seconds + (price["task"] ?? 0) * images + tokens;
  const highest = (price["image_hd"] ?? 0) * images + (price["second_1080p"] ?? 0) * seconds;
  return [usual, highest].filter((units) => units > 0).map(fromUnits);
}

/** A model of the list. */
interface Shown {
  choice: Choice;
  kind: Kind;
  can: ReturnType<typeof listAbilities>;
  prices: ReturnType<typeof listPrices>;
  /** Of the last day, over the whole deployment; undefined if too few ended. */
  lately: Outcomes | undefined;
}

async function readShown(c: ConsoleContext): Promise<Shown[]> {
  const [choices, outcomes] = await Promise.all([readChoices(c), readOutcomes(c.env.DB, Date.now() - dayMs, "model")]);
  return choices.flatMap((choice): Shown[] => {
    const kind = kinds.find((one) => one === choice.action);
    if (!kind || choice.id !== choice.model) return [];
    const others = choices.filter(({ id, model }) => model === choice.model && id !== model);
    const lately = outcomes.get(`${kind} ${choice.model}`);
    return [
      {
        choice,
        kind,
        can: listAbilities(c.var.t, choice, others),
        prices: listPrices(c, choice),
        lately: lately && lately.ended >= minEnded ? lately : undefined,
      },
    ];
  });
}

const canDo = ({ can }: Shown, ability: Ability) => can.some((one) => one.ability === ability);

const isFound = (shown: Shown, { q, kind, can }: Asked): boolean => {
  const { choice, can: words } = shown;
  const text = [choice.model, choice.title ?? "", ...choice.aliases, ...words.map((one) => one.text)].join(" ").toLowerCase();
  return (
    (kind === undefined || shown.kind === kind) &&
    (can === undefined || canDo(shown, can)) &&
    (q ?? "")
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word))
  );
};

/** The time that the model took in the last day: the typical time is the catalogue's, as on every page. */
const Time = ({ lately }: Pick<Shown, "lately">) => {
  const seconds = lately?.medianSeconds;
  return <>{typeof seconds === "number" ? usualTime(useAround().t, { typicalSeconds: Math.max(1, Math.round(seconds)) }) : "–"}</>;
};

/** A word where something is off, nothing otherwise. */
const State = ({ of: { choice, lately } }: { of: Shown }) => {
  const { t } = useAround();
  if (!lately) return null;
  if (lately.completionRate < 0.5) return <Pill icon="bad" tone="bad" text={t("model_failing")} />;
  if ((lately.medianSeconds ?? 0) > 2 * choice.typicalSeconds) return <Pill icon="clock" tone="warn" text={t("model_slow")} />;
  return null;
};

const Success = ({ lately }: Pick<Shown, "lately">) => <>{lately ? percentText(useAround().language, lately.completionRate) : "–"}</>;

/** A word within a sentence: small, unless it is an abbreviation. */
const inSentence = (text: string) => text.replace(/^\p{Lu}(?=\p{Ll})/u, (first) => first.toLowerCase());

const Card = ({ of: shown }: { of: Shown }) => {
  const { t } = useAround();
  const { choice, kind, can, prices } = shown;
  const sample = samplePath(choice);
  return (
    <li class="card stack tight filled">
      <a class="cover" href={`${path}/${choice.model}`} tabindex={-1} aria-hidden="true">
        {sample === undefined ? <Icon name={kindIcons[kind]} /> : <img src={sample} alt="" width={480} height={270} loading="lazy" />}
      </a>
      <div class="row between">
        <h3>
          <a class="plain" href={`${path}/${choice.model}`}>
            {choice.model}
          </a>
        </h3>
        <State of={shown} />
      </div>
      <p class="meta">
        {[choice.title, can.map(({ text }, at) => (at === 0 ? text : inSentence(text))).join(", ")].filter(Boolean).join(" · ")}
      </p>
      <Facts
        of={[
          [
            t("price"),
            prices.map(([unit, amount], at) => <div class={at === 0 ? undefined : "meta"}>{t("amount_of", { unit, amount })}</div>),
          ],
          [t("usual_time"), usualTime(t, choice)],
          shown.lately && [t("model_time"), <Time lately={shown.lately} />],
          shown.lately && [t("model_success"), <Success lately={shown.lately} />],
        ]}
      />
      <div class="row">
        <a
          class="btn sm"
          href={`/console/playground?model=${encodeURIComponent(choice.id)}`}
          aria-label={t("try_model", { model: choice.model })}
        >
          {t("try")}
        </a>
        <Link
          class="btn ghost sm"
          href={`${path}/${choice.model}`}
          aria-label={`${t("model_details")}: ${choice.model}`}
          text={t("model_details")}
        />
      </div>
    </li>
  );
};

const Cards = ({ found }: { found: Shown[] }) => {
  const { t } = useAround();
  return (
    <>
      {kinds.map((kind) => {
        const members = found.filter((one) => one.kind === kind);
        return members.length === 0 ? null : (
          <section>
            <SectionHead title={t(`model_group_${kind}`)}>
              <span class="meta num">{members.length}</span>
            </SectionHead>
            <ul class="cols even">
              {members.map((shown) => (
                <Card of={shown} />
              ))}
            </ul>
          </section>
        );
      })}
    </>
  );
};

/** What the work costs with a model, and with its dearest quality. */
const WorkCost = ({ of: { choice, kind }, amounts }: { of: Shown; amounts: Work }) => {
  const { t } = useAround();
  const [usual, highest] = costsOf(choice, amounts);
  return (
    <>
      {usual === undefined ? "–" : <Money millionths={usual} />}
      {highest !== undefined && (
        <div class="meta">
          {t(kind === "image" ? "model_can_hd" : "model_can_1080p")}: <Money millionths={highest} />
        </div>
      )}
    </>
  );
};

/** The calculator, and every model with what the work costs. */
const Priced = ({ found, asked, amounts }: { found: Shown[]; asked: Asked; amounts: Work }) => {
  const { t } = useAround();
  const named = new Set(found.map(({ kind }) => kind));
  const fields = (Object.keys(work) as (keyof Work)[]).filter((name) =>
    name === "images" ? named.has("image") || named.has("file") : name === "seconds" ? named.has("video") : named.has("chat"),
  );
  return (
    <>
      <section>
        <form class="card filters" action={path}>
          {Object.entries(asked).map(([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />)}
          {fields.map((name) => (
            <TextField
              name={name}
              type="number"
              min={0}
              max={maxWork}
              label={t(`model_work_${name}`)}
              value={String(amounts[name])}
              required
            />
          ))}
          <p>
            <Button class="btn" text={t("model_work_do")} />
          </p>
        </form>
      </section>
      <section>
        <DataTable
          label={t("models")}
          rows={found}
          columns={[
            {
              name: t("model"),
              cell: (shown) => (
                <>
                  <a class="plain" href={`${path}/${shown.choice.model}`}>
                    {shown.choice.model}
                  </a>{" "}
                  <State of={shown} />
                  <br />
                  <span class="meta">{[shown.choice.title, t(`model_group_${shown.kind}`)].filter(Boolean).join(" · ")}</span>
                </>
              ),
            },
            { name: t("model_can"), isExtra: true, class: "wrap meta", cell: ({ can }) => can.map(({ text }) => text).join(", ") || "–" },
            {
              name: t("price"),
              isNumber: true,
              isExtra: true,
              class: "wrap",
              cell: ({ prices }) =>
                prices.map(([unit, amount]) => (
                  <div>
                    {amount} <span class="muted">{unit}</span>
                  </div>
                )),
            },
            { name: t("usual_time"), isNumber: true, isExtra: true, cell: ({ choice }) => usualTime(t, choice) },
            {
              name: t("model_success"),
              isNumber: true,
              isExtra: true,
              cell: ({ lately }) => (
                <>
                  <Success lately={lately} />
                  {lately && (
                    <div class="meta">
                      <Time lately={lately} />
                    </div>
                  )}
                </>
              ),
            },
            { name: t("model_work_cost"), isNumber: true, cell: (shown) => <WorkCost of={shown} amounts={amounts} /> },
          ]}
        />
      </section>
    </>
  );
};

const Filters = ({ asked, all }: { asked: Asked; all: Shown[] }) => {
  const { t } = useAround();
  const { kind: _kind, ...others } = asked;
  const among = all.filter((one) => isFound(one, others));
  const link = (kind: Kind | undefined) => ({ path: pathWith({ ...asked, kind }), isHere: asked.kind === kind });
  const each = kinds
    .filter((kind) => all.some((one) => one.kind === kind))
    .map((kind) => ({ ...link(kind), text: t(`model_group_${kind}`), count: among.filter((one) => one.kind === kind).length }));
  return (
    <div class="sub">
      <NavLinks class="chips" label={t("kind")} of={[{ ...link(undefined), text: t("any_kind"), count: among.length }, ...each]} />
      <span class="row push">
        <Menu
          name="can"
          any={t("model_can_any")}
          options={abilities
            .filter((ability) => all.some((one) => canDo(one, ability)))
            .map((ability) => ({ value: ability, text: t(`model_can_${ability}`) }))}
          chosen={asked.can}
          to={(can) => pathWith({ ...asked, can: abilities.find((one) => one === can) })}
        />
      </span>
    </div>
  );
};

/** `GET /console/models?q=&kind=&can=&as=table&images=&seconds=&input=&output=` */
export async function list(c: ConsoleContext) {
  const { t } = c.var;
  const asked = parseAsked(c);
  const all = await readShown(c);
  const found = all.filter((one) => isFound(one, asked));
  return page(
    c,
    t("models"),
    <>
      {all.length > 0 && <Filters asked={asked} all={all} />}
      {found.length === 0 ? (
        <Empty icon="search" title={t(all.length === 0 ? "no_models" : "model_none")}>
          {all.length > 0 && <Link class="btn" href={path} text={t("model_all")} />}
        </Empty>
      ) : asked.as === "table" ? (
        <Priced found={found} asked={asked} amounts={parseWork(c)} />
      ) : (
        <Cards found={found} />
      )}
    </>,
    200,
    {
      lead: t("models_list_lead"),
      actions: (
        <>
          <SearchForm path={path} filters={{ ...asked }} name="q" label={t("model_search")} maxlength={100} />
          <NavLinks
            class="seg"
            label={t("model_view")}
            of={[
              { path: pathWith({ ...asked, as: undefined }), text: t("model_cards"), isHere: asked.as === undefined },
              { path: pathWith({ ...asked, as: "table" }), text: t("prices"), isHere: asked.as === "table" },
            ]}
          />
        </>
      ),
    },
  );
}
