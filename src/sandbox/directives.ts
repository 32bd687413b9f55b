/** Words in a prompt that make the sandbox fail on purpose, so that every possible end of a task can be tested. */

const DIRECTIVES = ["reject", "flag", "fail", "flaky", "slow", "hang", "break"] as const;

/**
 * - `reject`: refused at submission
 * - `flag`: fails at its normal time because of the content
 * - `fail`: fails at its normal time as the sandbox's fault
 * - `flaky`: the first submission and the first status query fail, and succeed when they are repeated
 * - `slow`: takes a minute
 * - `hang`: never ends
 * - `break`: a streamed chat ends half-way with an error event; a whole one fails; no effect elsewhere
 */
export type Directive = (typeof DIRECTIVES)[number];

/** All directives in a text, written `sandbox:fail`. */
export function directivesIn(text: string): Set<Directive> {
  return new Set(DIRECTIVES.filter((directive) => new RegExp(`\\bsandbox:${directive}\\b`).test(text)));
}
