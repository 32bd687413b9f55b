/** A small square in a colour of a chart, for its legend; without a colour it keeps the place. */
export const Swatch = ({ colour }: { colour: string }) => (
  <svg class="key" viewBox="0 0 10 10" aria-hidden="true">
    {colour !== "" && <rect class={colour} width="10" height="10" rx="2" />}
  </svg>
);
