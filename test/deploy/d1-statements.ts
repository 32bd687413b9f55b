/**
 * How the emulated D1 cuts SQL into statements: worse than SQLite, as reported for remote databases (workers-sdk 3892, 4713, 4767, 14991,
 * 15314, 15690). The real rules are not published, so whatever passes here relies on none of them.
 */

const problem = (message: string) => new Error(`${message} [code: 7500]`);

/** Cuts at semicolons outside quotes. An apostrophe in a comment counts as a quote; triggers are cut unless `keepsTriggers`. */
function cut(sql: string, keepsTriggers: boolean): string[] {
  const statements = [""];
  let quote = "";
  for (const [at, character] of sql.split("").entries()) {
    if (quote === "" && /['"`]/.test(character)) quote = character;
    else if (character === quote) quote = "";
    const statement = statements.at(-1)!;
    const isInTrigger = keepsTriggers && /\bTRIGGER\b[^]*\sBEGIN[ \n]/.test(statement) && !/[ \n]END$/.test(sql.slice(0, at));
    if (character === ";" && quote === "" && !isInTrigger) statements.push("");
    else statements[statements.length - 1] = statement + character;
  }
  if (quote !== "") throw problem("A prepared SQL statement must contain only one statement.");
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== "");
}

function checkEach(statements: string[]): string[] {
  for (const statement of statements) {
    const code = statement.replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, "").trim();
    if (code === "") throw problem("SQL code did not contain a statement.");
    if (/\bCREATE (?:TEMP )?TRIGGER\b/i.test(code) && !/\bEND$/i.test(code)) throw problem("incomplete input: SQLITE_ERROR");
  }
  return statements;
}

/** The statements of a call of `/query`. Throws the API's error. */
export function cutQuery(sql: string, params: unknown[] = []): string[] {
  const statements = checkEach(cut(sql, false));
  if (params.length > 0 && statements.length > 1) throw problem("A prepared SQL statement must contain only one statement.");
  return statements;
}

/** The statements of an imported file. Throws the API's error. */
export const cutImport = (sql: string): string[] => checkEach(cut(sql, true));
