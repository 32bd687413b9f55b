export const tags: { name: string }[] = [];
export const tagPath = (name: string) => `/docs/reference/${name}`;
