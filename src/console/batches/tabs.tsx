/** Batches, files and destinations: three pages of one subject, each with a tab. */

import { NavLinks, useAround } from "../parts/index.ts";

const places = { batches: "/console/batches", files: "/console/files", destinations: "/console/destinations" } as const;
type Place = keyof typeof places;

export const BatchTabs = ({ at }: { at: Place }) => {
  const { t } = useAround();
  const names = Object.keys(places) as Place[];
  return <NavLinks label={t("batches")} of={names.map((name) => ({ path: places[name], text: t(name), isHere: name === at }))} />;
};
