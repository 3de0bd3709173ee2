/**
 * A number with a comma at each thousand, and a noun in singular or plural. Formatted by hand, because the platform's formatter
 * takes 20 ms to load.
 */
export function count(amount: number, what: string): string {
  return `${String(amount).replaceAll(/\B(?=(?:\d{3})+$)/g, ",")} ${what}${amount === 1 ? "" : "s"}`;
}

/** Four decimals from one cent on; smaller amounts keep three significant digits, so that they do not show as zero. */
export function usd(amount: number | null): string {
  if (amount === null) return "unpriced";
  if (amount === 0) return "$0";
  return amount >= 0.01 ? `$${amount.toFixed(4)}` : `$${Number(amount.toPrecision(3))}`;
}
