/** Words in a prompt that make the sandbox misbehave on purpose, so that every way a task can end can be tried. */

const DIRECTIVES = ["reject", "flag", "fail", "flaky", "slow", "hang", "break"] as const;

/**
 * - `reject`: refused when it is submitted
 * - `flag`: fails at its normal time, the content being against the rules
 * - `fail`: fails at its normal time, the sandbox being at fault
 * - `flaky`: the first submission and the first status query meet a fault that is gone when they are repeated
 * - `slow`: takes a minute
 * - `hang`: never ends
 * - `break`: a streamed chat ends half-way with an error event; a whole one fails; nothing else minds
 */
export type Directive = (typeof DIRECTIVES)[number];

/** All directives in a text, written `sandbox:fail`. */
export function directivesIn(text: string): Set<Directive> {
  return new Set(DIRECTIVES.filter((directive) => new RegExp(`\\bsandbox:${directive}\\b`).test(text)));
}
