interface LimitBarProps {
  limit: number;
  used: number;
  label: string;
  /** In a table it has the width of its column. */
  isCell?: boolean;
}

/** The used part of a limit; amber from nine tenths on. */
export const LimitBar = ({ limit, used, label, isCell = false }: LimitBarProps) => (
  <progress
    class={[isCell && "quota", used >= 0.9 * limit && "warn"].filter(Boolean).join(" ") || undefined}
    max={Math.max(1, limit)}
    value={Math.min(used, limit)}
    aria-label={label}
  />
);
