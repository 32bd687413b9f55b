/** The reference: a page for each group of operations, generated from the API's description. */

import type { ConsoleContext } from "../context.ts";
import { Table } from "../parts/table.tsx";
import { docsPage } from "./docs-page.tsx";
import { Html } from "./html.tsx";
import * as api from "./openapi.ts";
import { colouredJson, paragraphs, sentence } from "./prose.ts";

const Method = ({ method }: { method: string }) => <span class={`method ${method.toLowerCase()}`}>{method}</span>;

const Meaning = ({ schema, isRequired }: { schema: api.Schema; isRequired: boolean }) => (
  <>
    {isRequired && <strong>Required. </strong>}
    {schema.description !== undefined && <Html html={sentence(schema.description)} />}
    {["string", "number", "boolean"].includes(typeof schema.default) && (
      <span class="muted">
        {" Default: "}
        <code>{typeof schema.default === "string" ? schema.default : JSON.stringify(schema.default)}</code>
      </span>
    )}
  </>
);

interface Row {
  name: string;
  hint?: string;
  schema: api.Schema;
  isRequired: boolean;
}

const Fields = ({ label, rows }: { label: string; rows: Row[] }) => (
  <Table label={label} class="fields" columns={["Field", "Allowed", "Meaning"]}>
    {rows.map(({ name, hint, schema, isRequired }) => (
      <tr>
        <th scope="row" class="wrap">
          <code>{name}</code>
          {hint !== undefined && <span class="meta">{` ${hint}`}</span>}
        </th>
        <td class="wrap">{api.words(schema)}</td>
        <td class="wrap">
          <Meaning schema={schema} isRequired={isRequired} />
        </td>
      </tr>
    ))}
  </Table>
);

/** A body's fields; if there are several bodies, each is folded. */
const Body = ({ schema, label }: { schema: api.Schema; label: string }) => {
  const variants = api.variants(schema);
  if (variants.length > 0)
    return (
      <>
        {variants.map((variant) => (
          <details>
            <summary>
              <code>{api.schemaName(variant) ?? api.words(variant)}</code>
            </summary>
            <Body schema={variant} label={`${label}, ${api.schemaName(variant) ?? ""}`} />
          </details>
        ))}
      </>
    );
  const rows = api.listFields(schema);
  return rows.length === 0 ? null : <Fields label={label} rows={rows} />;
};

const Example = ({ text }: { text: string }) => (
  <div class="code">
    <pre tabindex={0} aria-label="Example">
      <code>
        <Html html={colouredJson(text)} />
      </code>
    </pre>
  </div>
);

/** A complete success answer. */
const Success = ({ status, answer, of }: { status: string; answer: api.Answer; of: string }) => (
  <>
    <h3>{`Answers ${status}`}</h3>
    <Html html={paragraphs(answer.description)} />
    {Object.entries(answer.content ?? {}).map(([type, content]) => (
      <>
        <p class="meta">{type}</p>
        {api.formatExamples(content).map((text) => (
          <Example text={text} />
        ))}
        {content.schema && (
          <details>
            <summary>{type === "text/event-stream" ? "Fields of the JSON in each event's data" : "Fields"}</summary>
            <Body schema={content.schema} label={`${of}, answer ${status}`} />
          </details>
        )}
      </>
    ))}
  </>
);

const isError = (status: string) => Number(status) >= 400;

const Errors = ({ answers, of }: { answers: [status: string, answer: api.Answer][]; of: string }) => (
  <details>
    <summary>{`Errors: ${answers.map(([status]) => status).join(", ")}`}</summary>
    <Table label={`${of}, errors`} columns={["Status", "When"]}>
      {answers.map(([status, answer]) => (
        <tr>
          <th scope="row">{status}</th>
          <td class="wrap">
            <Html html={paragraphs(answer.description)} />
          </td>
        </tr>
      ))}
    </Table>
  </details>
);

const Operation = ({ method, path, operation }: api.Place) => {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const answers = Object.entries(responses).map(([status, answer]) => [status, api.resolve(answer)] as [string, api.Answer]);
  const errors = answers.filter(([status]) => isError(status));
  const rows = parameters.map((parameter) => api.resolve(parameter));
  return (
    <section class="operation">
      <h2 id={operationId}>{summary}</h2>
      <p class="path">
        <Method method={method} />
        <code>{path}</code>
      </p>
      {description !== undefined && <Html html={paragraphs(description)} />}
      {rows.length > 0 && (
        <>
          <h3>Parameters</h3>
          <Fields
            label={`${summary}, parameters`}
            rows={rows.map(({ name, in: where, required, description, schema }) => ({
              name,
              hint: where,
              schema: { ...schema, ...(description !== undefined && { description }) },
              isRequired: required === true,
            }))}
          />
        </>
      )}
      {Object.values(requestBody?.content ?? {}).map((content) => (
        <>
          <h3>Body</h3>
          {api.formatExamples(content).map((text) => (
            <Example text={text} />
          ))}
          {content.schema && <Body schema={content.schema} label={`${summary}, body`} />}
        </>
      ))}
      {answers
        .filter(([status]) => !isError(status))
        .map(([status, answer]) => (
          <Success status={status} answer={answer} of={summary} />
        ))}
      {errors.length > 0 && <Errors answers={errors} of={summary} />}
    </section>
  );
};

/** Answers the page of a group; undefined for unknown ones. */
export function referencePage(c: ConsoleContext, tag: string): Response | Promise<Response> | undefined {
  const found = api.tags.find(({ name }) => name === tag);
  if (!found) return undefined;
  const places = api.operationsTagged(tag);
  return docsPage(c, {
    title: api.tagTitle(tag),
    description: found.description,
    group: c.var.t("docs_reference"),
    sections: places.map(({ operation }) => ({ id: operation.operationId, title: operation.summary })),
    children: (
      <>
        <h1>{api.tagTitle(tag)}</h1>
        <Html html={paragraphs(found.description)} />
        {places.map((place) => (
          <Operation {...place} />
        ))}
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
            <ul class="operations">
              {api.operationsTagged(name).map(({ method, path, operation }) => (
                <li>
                  <a class="plain" href={`${api.tagPath(name)}#${operation.operationId}`}>
                    <Method method={method} />
                    <code>{path}</code>
                    <span class="muted">{operation.summary}</span>
                  </a>
                </li>
              ))}
            </ul>
          </>
        ))}
      </>
    ),
  });
