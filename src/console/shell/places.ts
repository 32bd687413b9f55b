/** The pages that the sidebar leads to, in their groups. */

export const groups = [
  { name: undefined, places: [{ path: "/console", name: "overview", icon: "home" }] },
  {
    name: "group_create",
    places: [
      { path: "/console/playground", name: "playground", icon: "wand" },
      { path: "/console/chat", name: "chat", icon: "chat" },
      { path: "/console/tasks", name: "tasks", icon: "grid" },
      { path: "/console/characters", name: "characters", icon: "face" },
    ],
  },
  {
    name: "group_build",
    places: [
      { path: "/console/models", name: "models", icon: "cube" },
      { path: "/console/keys", name: "api_keys", icon: "key" },
      { path: "/console/batches", name: "batches", icon: "layers", also: ["/console/files", "/console/destinations"] },
      { path: "/console/logs", name: "logs", icon: "list" },
      { path: "/console/webhooks", name: "webhooks", icon: "hook" },
      { path: "/docs", name: "docs", icon: "book" },
    ],
  },
  {
    name: "group_manage",
    places: [
      { path: "/console/usage", name: "usage", icon: "bars" },
      { path: "/console/members", name: "members", icon: "team" },
      { path: "/console/billing", name: "billing", icon: "card" },
      { path: "/console/account", name: "account", icon: "user" },
      { path: "/console/admin", name: "admin", icon: "shield" },
    ],
  },
] as const;

/** Pages that have no place in the sidebar, because others lead to them. */
const further = [
  { path: "/console/files", name: "files", icon: "file" },
  { path: "/console/destinations", name: "destinations", icon: "out" },
  { path: "/console/audit-log", name: "audit_log", icon: "list" },
] as const;

export const allPlaces = [...groups.flatMap(({ places }) => [...places]), ...further];
