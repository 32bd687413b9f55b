/** Code in the colours of the design, as HTML: keywords and keys, strings, comments. One small grammar for the languages of examples and answers. */

export const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

const words = (text: string) => new Set(text.split(" "));

const cLike = words(
  "abstract as async await bool boolean break byte case catch char class const continue default defer delete do double else enum export extends false final finally float fn for from func function go goto if impl implements import in instanceof int interface let long loop match mod mut namespace new nil null of override package private protected pub public range return self short static string struct super switch this throw throws trait true try type typeof undefined union unsafe use using var virtual void when where while yield",
);
const python = words(
  "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield print",
);
const shell = words(
  "if then else elif fi for in do done while until case esac function return export local set echo cd curl cat jq npm npx pip python node git",
);
const sql = words(
  "select from where and or not in is null insert into values update set delete create table index unique primary key references join left right inner outer on group by order having limit offset as distinct union all case when then else end with begin commit true false",
);

interface Grammar {
  keywords: ReadonlySet<string>;
  /** A comment, as the source of a regular expression. */
  comment: string;
  /** True if keywords are written in both cases. */
  anyCase?: true;
  /** True if strings go on in the next line. */
  longStrings?: true;
  /** True if names before a colon are keys. */
  keys?: true;
}

const slashes = String.raw`\/\/[^\n]*|\/\*[^]*?\*\/`;
const hash = String.raw`(?<![\w$&{"'/])#[^\n]*`;
const none = new Set<string>();

const grammars: Record<string, Grammar> = {};
const add = (names: string, grammar: Grammar) => {
  for (const name of names.split(" ")) grammars[name] = grammar;
};
add("js javascript jsx mjs ts typescript tsx go rust rs java c cpp c++ cs csharp kotlin kt swift php dart", {
  keywords: cLike,
  comment: slashes,
});
add("py python", { keywords: python, comment: hash });
add("sh bash shell zsh console curl", { keywords: shell, comment: hash, longStrings: true });
add("sql", { keywords: sql, comment: String.raw`--[^\n]*|\/\*[^]*?\*\/`, anyCase: true });
add("json jsonc jsonl", { keywords: words("true false null"), comment: slashes, keys: true });
add("yaml yml toml ini", { keywords: words("true false null"), comment: hash, keys: true });
add("css scss", { keywords: none, comment: slashes });
add("html xml svg", { keywords: none, comment: "<!--[^]*?-->" });

const rules = new Map<Grammar, RegExp>();

/** Matches one string, comment or word; a word or string may be followed by a colon. */
function toRule(grammar: Grammar): RegExp {
  let rule = rules.get(grammar);
  if (!rule) {
    const end = grammar.longStrings ? "" : String.raw`\n`;
    const text = String.raw`"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\${end}])*"|'(?:\\.|[^'\\${end}])*'|${"`"}(?:\\.|[^${"`"}\\])*${"`"}`;
    rule = new RegExp(String.raw`(?<comment>${grammar.comment})|(?<text>${text})|(?<word>[A-Za-z_$][\w$-]*)`, "g");
    rules.set(grammar, rule);
  }
  return rule;
}

/** Longer code has no colours. */
const maxLength = 10_000;

/** Code as escaped HTML, with a class for each coloured part; without them if the language is unknown. */
export function highlight(code: string, language: string): string {
  const grammar = grammars[language];
  if (!grammar || code.length > maxLength) return escapeHtml(code);
  let html = "";
  let from = 0;
  for (const { 0: part, index, groups = {} } of code.matchAll(toRule(grammar))) {
    const isKey = grammar.keys && groups["comment"] === undefined && /^\s*:/.test(code.slice(index + part.length, index + part.length + 8));
    const word = grammar.anyCase ? part.toLowerCase() : part;
    const name =
      groups["comment"] !== undefined
        ? "c"
        : isKey
          ? "k"
          : groups["text"] !== undefined
            ? "s"
            : grammar.keywords.has(word)
              ? "k"
              : undefined;
    if (name === undefined) continue;
    html += `${escapeHtml(code.slice(from, index))}<span class="${name}">${escapeHtml(part)}</span>`;
    from = index + part.length;
  }
  return html + escapeHtml(code.slice(from));
}
