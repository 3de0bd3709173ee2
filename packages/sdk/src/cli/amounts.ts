/** To the cent, or to four digits if it is less than a dollar. */
export function dollars(usd: number): string {
  const text = usd >= 1 ? usd.toFixed(2) : Number(usd.toPrecision(4)).toFixed(9).replace(/0+$/, "");
  return `$${text.replace(/\.(?:00)?$/, "")}`;
}

/** With a comma at each thousand. */
export function grouped(amount: number): string {
  return String(amount).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
