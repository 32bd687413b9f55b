/** Shortened ids for display. */

/** An id shortened in its middle; copying and links use the whole id. */
export const cutId = (id: string) => (id.length > 18 ? `${id.slice(0, 10)}…${id.slice(-4)}` : id);
