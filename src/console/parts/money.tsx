/** Amounts on pages: rounded to the cent, with the exact amount as the tooltip. */

import { decimal, exactAmount, roundedAmount } from "../amounts.ts";
import { useAround } from "./context.ts";

/** An amount in millionths; null is no limit. The exact amount is in `title` and, for programs, in `value`. */
export const Money = ({ millionths }: { millionths: number | null }) => {
  const { language, t, unit } = useAround();
  if (millionths === null) return <>{t("unlimited")}</>;
  return (
    <data class="num" value={decimal(millionths)} title={exactAmount(language, unit, millionths)}>
      {roundedAmount(language, unit, millionths)}
    </data>
  );
};
