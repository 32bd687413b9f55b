/** Amounts of entries as the gateway counts them. Pure. */

const isFactor = (name: string) => name.endsWith("_x");

/** Prices or costs of an entry, in balance units, as millionths; factors stay as they are. */
export const toMillionths = (units: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(units).map(([name, amount]) => [name, isFactor(name) ? amount : Math.round(amount * 1_000_000)]));

/** True for a number in this range with at most six decimals, except for the error of the multiplication. */
export const isAmount = (value: unknown, minimum: number, maximum: number): value is number =>
  typeof value === "number" && value >= minimum && value <= maximum && Math.abs(value * 1e6 - Math.round(value * 1e6)) < 1e-3;
