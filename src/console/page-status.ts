/** The HTTP statuses of pages. */

const refused = [400, 401, 402, 403, 404, 408, 409, 410, 413, 422, 429, 503] as const;

export type PageStatus = 200 | (typeof refused)[number] | 500;

/** The status of a page about an error answer of the gateway: the same, or the general one of its kind. */
export const toPageStatus = (status: number): PageStatus => refused.find((one) => one === status) ?? (status < 500 ? 400 : 500);
