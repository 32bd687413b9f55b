/** Batches, files and destinations: three pages of one subject, each with a tab. */

import { useAround } from "../parts/context.ts";

const places = { batches: "/console/batches", files: "/console/files", destinations: "/console/destinations" } as const;

export const Tabs = ({ at }: { at: keyof typeof places }) => {
  const { t } = useAround();
  return (
    <nav class="tabs under" aria-label={t("batches")}>
      {Object.entries(places).map(([name, path]) => (
        <a href={path} aria-current={name === at ? "page" : undefined}>
          {t(name as keyof typeof places)}
        </a>
      ))}
    </nav>
  );
};
