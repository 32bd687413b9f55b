/** Seedance: what its versions can do, and how a request for a film is told to them. */

import { promptWithNames } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";

interface Version {
  /** Seconds, whole ones. */
  from: number;
  to: number;
  resolutions: string[];
  /** A last frame beside the first one. */
  hasLastFrame: boolean;
  /** How many `reference_image` at most. */
  references: number;
  /** With a first frame the ratio is the picture's, and another one is refused (InvalidParameter.TaskTypeConstraint). */
  isRatioOfFrame: boolean;
}

const upTo720 = ["480p", "720p"];
const upTo1080 = [...upTo720, "1080p"];
const first: Version = { from: 2, to: 12, resolutions: upTo1080, hasLastFrame: true, references: 0, isRatioOfFrame: false };
const second: Version = { from: 4, to: 15, resolutions: upTo1080, hasLastFrame: true, references: 9, isRatioOfFrame: false };

/**
 * The first that fits. Seconds and pictures: docs.byteplus.com/en/docs/ModelArk/1520757; resolutions of 2.x, and that a frame of
 * 2.5 sets the ratio: measured on ap-southeast by others in August and September 2026.
 */
const versions: [RegExp, Version][] = [
  [/seedance-1-0-pro-fast/, { ...first, hasLastFrame: false }],
  [/seedance-1-0-lite/, { ...first, references: 4 }],
  [/seedance-1-0/, first],
  [/seedance-1-5/, { ...first, from: 4 }],
  [/seedance-2-0-(?:fast|mini)/, { ...second, resolutions: upTo720 }],
  [/seedance-2-0/, second],
  [/seedance-2-5/, { ...second, to: 30, isRatioOfFrame: true }],
];
/** An endpoint's id says nothing of the model behind it: what 2.x and 1.x agree on. */
const unknown: Version = { ...second, to: 12, references: 4, isRatioOfFrame: true };

const detectVersion = (model: string): Version => versions.find(([pattern]) => pattern.test(model))?.[1] ?? unknown;

const ratios = new Set(["16:9", "9:16", "1:1", "4:3", "3:4", "21:9"]);
const defaultRatio = "16:9";
const wireRoles = { first_frame: "first_frame", last_frame: "last_frame", reference: "reference_image" } as const;

/**
 * The part that each picture plays; the characters' come after the caller's. One picture without a role is what the film
 * starts from, several, or one beside characters, are what it refers to.
 */
function chooseRoles({ images, characters }: GenerationRequest): string[] {
  const plain = images.length === 1 && characters.length === 0 ? "first_frame" : "reference";
  return [...images.map(({ role }) => wireRoles[role ?? plain]), ...characters.map(() => wireRoles.reference)];
}

/** The field of a request for a film that cannot be honoured. */
export function unableFilm(request: GenerationRequest): string | undefined {
  const version = detectVersion(request.model);
  const { duration = 5, resolution, size = defaultRatio } = request;
  if (!Number.isInteger(duration) || duration < version.from || duration > version.to) return "duration";
  if (resolution !== undefined && !version.resolutions.includes(resolution)) return "metadata.resolution";
  if (!ratios.has(size)) return "size";
  if (request.promptOptimizer === true) return "metadata.prompt_optimizer";

  const roles = chooseRoles(request);
  const count = (wanted: string) => roles.filter((role) => role === wanted).length;
  const [firsts, lasts, references] = [count("first_frame"), count("last_frame"), count("reference_image")];
  const field =
    request.characters.length > 0 ? "prompt" : request.images.some(({ role }) => role !== undefined) ? "image_with_roles" : "images";
  if (lasts > 0 && (firsts === 0 || !version.hasLastFrame)) return field;
  if (references > version.references || (references > 0 && firsts > 0)) return field;
  if (references > 0 && resolution === "1080p") return "metadata.resolution";
  if (firsts > 0 && version.isRatioOfFrame && size !== defaultRatio) return "size";
  return undefined;
}

/** The body of POST /contents/generations/tasks; `urls` are those of the caller's pictures and then the characters'. */
export function filmBody(request: GenerationRequest, urls: string[]) {
  const version = detectVersion(request.model);
  const roles = chooseRoles(request);
  return {
    model: request.model,
    content: [
      // A style is advice only: it has no parameter.
      { type: "text", text: promptWithNames(request) + (request.style === undefined ? "" : `\nStyle: ${request.style}.`) },
      ...urls.map((url, at) => ({ type: "image_url", image_url: { url }, role: roles[at] })),
    ],
    ...(!(version.isRatioOfFrame && roles.includes("first_frame")) && { ratio: request.size ?? defaultRatio }),
    resolution: request.resolution ?? "720p",
    duration: request.duration ?? 5,
    // Left out, it is on in some versions.
    watermark: request.watermark ?? false,
    ...(request.thumbnail === true && { return_last_frame: true }),
  };
}
