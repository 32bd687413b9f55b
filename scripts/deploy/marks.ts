/** `--marks`: the variables for what a country's rule asks of generated files. What each preset does and does not: the guide "Marks and labels". */

/** Of the gateway. Variables in the file of `--secrets` replace them. */
export const markPresets = {
  eu: { MARKS: "sign", VISIBLE_LABEL: "off" },
  cn: { MARKS: "sign", VISIBLE_LABEL: "on" },
  kr: { MARKS: "sign", VISIBLE_LABEL: "off" },
  "us-ca": { MARKS: "sign", VISIBLE_LABEL: "off" },
  none: {},
} as const;

export type MarkPreset = keyof typeof markPresets;
export const markNames = Object.keys(markPresets) as MarkPreset[];
