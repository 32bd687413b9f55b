/** The reference: an overview, a page for each group, and a page for each operation with its samples, answers and errors at the right. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { Copy, useAround } from "../parts/index.ts";
import { docsPage } from "./docs-page.tsx";
import { Html } from "./html.tsx";
import * as api from "./openapi.ts";
import { colouredJson, colouredStrings, paragraphs, sentence } from "./prose.ts";
import { tryForm } from "./try.tsx";

const Method = ({ method }: { method: string }) => <span class={`method ${method.toLowerCase()}`}>{method}</span>;

interface FieldProps {
  name: string;
  hint?: string;
  schema: api.Schema;
  isRequired: boolean;
}

/** A field: what it is called, what it may be, what it means, and what it contains, folded. */
const Field = ({ name, hint, schema, isRequired }: FieldProps) => {
  const inner = api.nestedSchema(schema);
  const { default: preset } = schema;
  const plainDefault =
    typeof preset === "string" ? preset : ["number", "boolean"].includes(typeof preset) ? JSON.stringify(preset) : undefined;
  const about = [hint, api.words(schema), plainDefault !== undefined && `default ${plainDefault}`].filter(Boolean).join(", ");
  return (
    <li>
      <p class="row gap1">
        <code class="name">{name}</code>
        <span class="meta">{about}</span>
        {isRequired && <span class="meta must">required</span>}
      </p>
      {schema.description !== undefined && (
        <p class="muted">
          <Html html={sentence(schema.description)} />
        </p>
      )}
      {inner && (
        <details>
          <summary>
            {inner.variants.length > 0 ? `${inner.variants.length} kinds` : `${inner.count} ${inner.count === 1 ? "field" : "fields"}`}
          </summary>
          <Fields schema={inner.schema} />
        </details>
      )}
    </li>
  );
};

/** The fields of an object in their order; of one of several objects, those of each, folded. */
const Fields = ({ schema }: { schema: api.Schema }): Child => {
  const variants = api.variants(schema);
  if (variants.length > 0)
    return (
      <>
        {variants.map((variant) => (
          <details>
            <summary>
              <code>{api.schemaName(variant) ?? api.words(variant)}</code>
            </summary>
            <Fields schema={variant} />
          </details>
        ))}
      </>
    );
  return (
    <ul class="params">
      {api.ownFields(schema).map((field) => (
        <Field {...field} />
      ))}
    </ul>
  );
};

interface Tab {
  id: string;
  title: string;
  html: string;
}

/** Blocks of code, one shown at a time, each with its copy button. */
const Tabs = ({ name, label, tabs, language }: { name: string; label: string; tabs: Tab[]; language?: boolean }) => (
  <div class="code" role="group" aria-label={label}>
    {tabs.map(({ id, title, html }, at) => (
      <>
        <label class={language === true ? "lang" : "lang status"}>
          <input type="radio" name={name} value={language === true ? id.slice(name.length + 1) : id} checked={at === 0} />
          {title}
        </label>
        <div class="panel">
          <Copy of={id} label={`${useAround().t("copy")}: ${title}`} />
          <pre tabindex={0} aria-label={title}>
            <code id={id}>
              <Html html={html} />
            </code>
          </pre>
        </div>
      </>
    ))}
  </div>
);

/** The names under which the pages' tabs remember a language. */
const sampleNames: Record<string, { value: string; title: string }> = {
  Shell: { value: "sh", title: "curl" },
  Python: { value: "python", title: "Python" },
  TypeScript: { value: "js", title: "JavaScript" },
  JavaScript: { value: "js", title: "JavaScript" },
};

const Samples = ({ operation }: { operation: api.Operation }) => {
  const samples = api
    .readSamples(operation)
    .toSorted((one, other) => Object.keys(sampleNames).indexOf(one.lang) - Object.keys(sampleNames).indexOf(other.lang));
  if (samples.length === 0) return null;
  return (
    <Tabs
      name="sample"
      language
      label={`The request in ${samples.map(({ lang }) => sampleNames[lang]?.title ?? lang).join(", ")}`}
      tabs={samples.map(({ lang, source }) => ({
        id: `sample-${sampleNames[lang]?.value ?? lang}`,
        title: sampleNames[lang]?.title ?? lang,
        html: colouredStrings(source),
      }))}
    />
  );
};

const isError = (status: string) => Number(status) >= 400;

/** Each answer of an operation with its first examples, the errors too. */
const Answers = ({ answers }: { answers: [status: string, answer: api.Answer][] }) => {
  const tabs = answers.flatMap(([status, { content = {} }]) =>
    Object.values(content)
      .flatMap((one) => api.formatExamples(one))
      .slice(0, isError(status) ? 1 : 2)
      .map((text, at) => ({ id: `answer-${status}-${at}`, title: at === 0 ? status : `${status} (${at + 1})`, html: colouredJson(text) })),
  );
  return tabs.length === 0 ? null : <Tabs name="answer" label="Answers" tabs={tabs} />;
};

const readAnswers = ({ responses }: api.Operation) =>
  Object.entries(responses).map(([status, answer]) => [status, api.resolve(answer)] as [string, api.Answer]);

const Success = ({ status, answer }: { status: string; answer: api.Answer }) => (
  <>
    <h2 id={`answer-${status}`}>{`Answer ${status}`}</h2>
    <Html html={paragraphs(answer.description)} />
    {Object.entries(answer.content ?? {}).map(
      ([type, { schema }]) =>
        schema && (
          <details>
            <summary>{type === "text/event-stream" ? "Fields of the JSON in each event's data" : `Fields (${type})`}</summary>
            <Fields schema={schema} />
          </details>
        ),
    )}
  </>
);

/** The errors of an operation: each code with what it means, and the answer, folded. */
const Errors = ({ answers }: { answers: [status: string, answer: api.Answer][] }) => (
  <>
    <h2 id="errors">Errors</h2>
    <ul class="params">
      {answers.map(([status, answer]) => {
        const examples = Object.values(answer.content ?? {}).flatMap(api.namedExamples);
        const meanings = answer.description.split("\n\n");
        return (
          <li>
            <p class="row gap1">
              <code class="name">{status}</code>
              {examples.length === 0 && <span class="muted">{answer.description}</span>}
            </p>
            {examples.map(({ name, text }) => {
              const id = `error-${status}-${name}`;
              const meaning = meanings.find((one) => one.startsWith(`\`${name}\``)) ?? name.replaceAll("_", " ");
              return (
                <details>
                  <summary>
                    <Html html={sentence(meaning)} />
                  </summary>
                  <div class="code plain">
                    <Copy of={id} label={`${useAround().t("copy")}: ${name}`} />
                    <pre tabindex={0} aria-label={name}>
                      <code id={id}>
                        <Html html={colouredJson(text)} />
                      </code>
                    </pre>
                  </div>
                </details>
              );
            })}
          </li>
        );
      })}
    </ul>
  </>
);

/** Answers the page of an operation; undefined for unknown ones. */
export async function operationPage(c: ConsoleContext, tag: string, id: string): Promise<Response | undefined> {
  const place = api.operationsTagged(tag).find(({ operation }) => operation.operationId === id);
  if (!place) return undefined;
  const { method, path, operation } = place;
  const { summary, description, parameters = [], requestBody } = operation;
  const answers = readAnswers(operation);
  const errors = answers.filter(([status]) => isError(status));
  const successes = answers.filter(([status]) => !isError(status));
  const rows = parameters.map((parameter) => api.resolve(parameter));
  const form = await tryForm(c, place);
  return docsPage(c, {
    title: summary,
    description: description ?? summary,
    group: api.tagTitle(tag),
    sections: [],
    aside: (
      <>
        <Samples operation={operation} />
        <Answers answers={answers} />
        {form}
      </>
    ),
    children: (
      <>
        <h1>{summary}</h1>
        <p class="path pinned">
          <Method method={method} />
          <code id="path">{path}</code>
          <Copy of="path" label={`${c.var.t("copy")}: ${path}`} />
        </p>
        {description !== undefined && <Html html={paragraphs(description)} />}
        {rows.length > 0 && (
          <>
            <h2 id="parameters">Parameters</h2>
            <ul class="params">
              {rows.map(({ name, in: where, required, description: meaning, schema }) => (
                <Field
                  name={name}
                  hint={where}
                  schema={{ ...schema, ...(meaning !== undefined && { description: meaning }) }}
                  isRequired={required === true}
                />
              ))}
            </ul>
          </>
        )}
        {Object.entries(requestBody?.content ?? {}).map(
          ([type, { schema }]) =>
            schema && (
              <>
                <h2>{type === "application/json" ? "Body" : `Body (${type})`}</h2>
                <Fields schema={schema} />
              </>
            ),
        )}
        {successes.map(([status, answer]) => (
          <Success status={status} answer={answer} />
        ))}
        {errors.length > 0 && <Errors answers={errors} />}
      </>
    ),
  });
}

/** The operations of a group as links. Their anchors are those of addresses from before each had a page. */
const Operations = ({ tag }: { tag: string }) => (
  <ul class="operations">
    {api.operationsTagged(tag).map(({ method, path, operation }) => (
      <li>
        <a class="plain" href={api.operationPath(tag, operation)} id={operation.operationId}>
          <Method method={method} />
          <code>{path}</code>
          <span class="muted">{operation.summary}</span>
        </a>
      </li>
    ))}
  </ul>
);

/** Answers the page of a group; undefined for unknown ones. */
export function referencePage(c: ConsoleContext, tag: string): Response | Promise<Response> | undefined {
  const found = api.tags.find(({ name }) => name === tag);
  if (!found) return undefined;
  return docsPage(c, {
    title: api.tagTitle(tag),
    description: found.description,
    group: c.var.t("docs_reference"),
    sections: [],
    children: (
      <>
        <h1>{api.tagTitle(tag)}</h1>
        <Html html={paragraphs(found.description)} />
        <Operations tag={tag} />
      </>
    ),
  });
}

/** Answers the first page of the reference: the rules for all paths, and a list of them. */
export const referenceIndex = (c: ConsoleContext): Response | Promise<Response> =>
  docsPage(c, {
    title: "API reference",
    description: "Every path of the API, its fields, answers and errors.",
    group: c.var.t("docs_reference"),
    sections: api.tags.map(({ name }) => ({ id: name, title: api.tagTitle(name) })),
    children: (
      <>
        <h1>API reference</h1>
        <Html html={paragraphs(api.about)} />
        <p>
          The description is at <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1), to generate clients from.
        </p>
        {api.tags.map(({ name, description }) => (
          <>
            <h2 id={name}>
              <a class="plain" href={api.tagPath(name)}>
                {api.tagTitle(name)}
              </a>
            </h2>
            <Html html={paragraphs(description)} />
            <Operations tag={name} />
          </>
        ))}
      </>
    ),
  });
