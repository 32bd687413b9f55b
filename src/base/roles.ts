/** The roles of members of an account, the highest first. */

export const roles = ["owner", "admin", "member", "viewer"] as const;
export type Role = (typeof roles)[number];
