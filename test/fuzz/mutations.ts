/** Single mutations of valid bodies, each with the `param` that the error must name. */

import * as fc from "fast-check";
import { type Body, isImage, type Role, type Schema, type Valid } from "./arbitraries.ts";

export interface Mutated {
  body: Body;
  param: string;
}

type Path = (string | number)[];

/** Sets one of the values at the path; `undefined` removes the field. */
interface Fault {
  path: Path;
  values: readonly unknown[];
  param?: string;
}

const readParam = (path: Path) => path.map((step, at) => (typeof step === "number" ? `[${step}]` : (at > 0 ? "." : "") + step)).join("");

function replaced(body: Body, path: Path, value: unknown): Body {
  const copy = structuredClone(body);
  const holder = path.slice(0, -1).reduce<Body>((at, step) => at[step] as Body, copy);
  const last = path.at(-1)!;
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

const samples: readonly unknown[] = ["text", "", "1", 0, 1.5, -1e300, true, false, [], ["x"], [[]], {}, { a: 1 }, { length: 1 }];
const typeOf = (value: unknown) => (Array.isArray(value) ? "array" : typeof value);

/** The types that a schema accepts; null counts as an absent field. */
function readTypes(schema: Schema): string[] {
  if (schema.anyOf) return schema.anyOf.flatMap(readTypes);
  return schema.type === "integer" ? ["number"] : [schema.type!];
}

const badImages = [
  "",
  " ",
  "ftp://a.example/b",
  "javascript:alert(1)",
  "https://",
  "https://me:pw@a.example/b",
  "data:text/html;base64,AAAA",
];
const badForms = ["", ",", "1", "a,b", "1;2", "-1,1", "0,1,2", "0x1,2", "1e1,12", "Infinity,1", "0,1 s"];
const badRanges = ["0,0.999999", "0,3.000001", "5,2", "3,3", "1,999999"];

/** Values of the right type outside of the schema's limits. */
function outside(schema: Schema, value: unknown): unknown[] {
  if (schema.const !== undefined) return [Number(schema.const) + 1];
  if (schema.enum) {
    const others = typeof schema.enum[0] === "number" ? [0, -5, 1e9, 10.5] : ["", "nope", "toString", "__proto__", ` ${schema.enum[0]}`];
    return others.filter((other) => !schema.enum!.includes(other));
  }
  if (schema.pattern !== undefined) return [...badForms, ...badRanges];
  if (isImage(schema)) return badImages;
  if (schema.maxLength !== undefined) return ["", " \n\u3000", "x".repeat(schema.maxLength + 1), "🙂".repeat(schema.maxLength + 1)];
  const { minimum: low, maximum: high } = schema;
  const numbers = [...(low === undefined ? [] : [low - 1, -1e300]), ...(high === undefined ? [] : [high + 1, 1e300])];
  if (schema.type === "integer") return [...numbers, 1.5];
  if (schema.type !== "array" || !Array.isArray(value)) return numbers;
  const { minItems, maxItems, items } = schema;
  const filler = items?.properties?.["role"]
    ? { url: "https://a.example/b", role: "first_frame" }
    : items?.properties
      ? { type: "function" }
      : "https://a.example/b";
  return [
    ...(minItems ? [[]] : []),
    ...(maxItems ? [[...value, ...Array.from({ length: maxItems + 1 - value.length }, () => filler)]] : []),
  ];
}

/** All invalid values that one change can make of a value or its parts. */
function readFaults(schema: Schema, value: unknown, path: Path): Fault[] {
  const own: Fault = {
    path,
    values: [
      ...samples.filter((sample) => !readTypes(schema).includes(typeOf(sample))),
      ...(schema.anyOf ?? [schema]).filter((one) => readTypes(one).includes(typeOf(value))).flatMap((one) => outside(one, value)),
    ],
  };
  return [...(own.values.length > 0 && path.length > 0 ? [own] : []), ...inner(schema, value, path)];
}

function inner({ items, properties = {}, required = [], additionalProperties }: Schema, value: unknown, path: Path): Fault[] {
  if (items && Array.isArray(value)) return value.flatMap((item, at) => readFaults(items, item, [...path, at]));
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const fields = value as Body;
  const named = Object.entries(properties).flatMap(([name, field]) => {
    const at = [...path, name];
    const drop = required.includes(name) ? [{ path: at, values: [undefined, null] }] : [];
    return [...drop, ...readFaults(field, Object.hasOwn(fields, name) ? fields[name] : undefined, at)].filter(
      // A missing field can be set to a wrong value, but there is nothing inside it to change.
      (fault) => fault.path.length === at.length || Object.hasOwn(fields, name),
    );
  });
  const others = additionalProperties?.type ? [{ path: [...path, "7"], values: ["x", true, [], {}] }] : [];
  return [...named, ...(Object.keys(fields).length > 0 ? others : [])];
}

const first = { url: "https://a.example/b", role: "first_frame" };

/** Fields of an assistant message that make content optional. */
const contentSubstitutes = ["tool_calls", "function_call", "refusal", "audio"];

/** Violations of rules between two fields, and of rules that no schema states. */
function ruleFaults({ action, schema, body }: Valid): Fault[] {
  const faults: Fault[] = [
    { path: ["model"], values: [undefined, null, 5, [], {}, "", "imgZ-9", "toString", "__proto__", ` ${String(body["model"])}`] },
  ];
  if (action === "chat") {
    for (const [at, one] of (body["messages"] as Body[]).entries()) {
      const isOptional =
        one["role"] === "function" || (one["role"] === "assistant" && contentSubstitutes.some((name) => one[name] !== undefined));
      const path = ["messages", at, "content"];
      if (!isOptional) faults.push({ path, values: [undefined, null] });
      faults.push({ path, values: [[5]], param: readParam([...path, 0]) });
      faults.push({ path, values: [[{ type: "nope" }]], param: readParam([...path, 0, "type"]) });
    }
    return faults;
  }
  faults.push({
    path: ["callback_url"],
    values: ["", "x", 5, [], "ftp://a.example", "http://hooks.example", "https://me:pw@hooks.example"],
  });
  if (action === "character") {
    faults.push(
      body["url"] === undefined
        ? { path: ["url"], values: ["https://films.example/a.mp4"], param: "from_task" }
        : { path: ["from_task"], values: ["task_x"] },
      { path: [body["url"] === undefined ? "from_task" : "url"], values: [undefined, null], param: "url" },
    );
  }
  if (!schema.properties!["image_with_roles"]) return faults;
  const roles = body["image_with_roles"] as Role[] | undefined;
  const resolution = (body["metadata"] as Body | undefined)?.["resolution"];
  if (body["images"]) faults.push({ path: ["image_with_roles"], values: [[], [first]] });
  if (roles) faults.push({ path: ["images"], values: [[], ["https://a.example/b"]], param: "image_with_roles" });
  if (roles && !body["images"]) faults.push({ path: ["image_with_roles"], values: [[first, first]] });
  if (roles && !body["images"] && !String(body["model"]).startsWith("vidC"))
    faults.push({ path: ["image_with_roles"], values: [[first, { ...first, role: "reference" }]] });
  if (resolution === "1080p" && !body["images"])
    faults.push({ path: ["image_with_roles"], values: [[{ ...first, role: "reference" }]], param: "image_with_roles[0].role" });
  return faults;
}

/** True if changing this field violates no other rule of the body. */
const isAlone = ({ action, body }: Valid, [field]: Path) =>
  !(action === "character" && (field === "url" || field === "from_task") && body[field] === undefined) &&
  !(field === "images" && body["image_with_roles"] !== undefined) &&
  !(field === "image_with_roles" && body["images"] !== undefined);

/** One mutation of a valid body, and the field that it made invalid. */
export const buildMutation = (valid: fc.Arbitrary<Valid>): fc.Arbitrary<Mutated> =>
  valid.chain((one) =>
    fc
      .constantFrom(...readFaults(one.schema, one.body, []).filter(({ path }) => isAlone(one, path)), ...ruleFaults(one))
      .chain(({ path, values, param = readParam(path) }) =>
        fc.constantFrom(...values).map((value): Mutated => ({ body: replaced(one.body, path, value), param })),
      ),
  );
