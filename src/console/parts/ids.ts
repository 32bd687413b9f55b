/** Ids as pages show them. */

/** An id cut in its middle; what is copied and linked has all of it. */
export const cutId = (id: string) => (id.length > 18 ? `${id.slice(0, 10)}…${id.slice(-4)}` : id);
