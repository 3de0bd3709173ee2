/** What one vendor offers, as far as it is known. */
export interface Offer {
  readonly vendor: string;
  /** The total in dollars, as the calculate tool returned it. */
  readonly total?: string | undefined;
  readonly each?: string | undefined;
  readonly shipping?: string | undefined;
  readonly deliveryWeeks?: number | undefined;
  readonly warrantyMonths?: number | undefined;
}

interface Priced extends Offer {
  /** More than one if documents contradict each other. */
  readonly prices: readonly { readonly document: string; readonly each: string }[];
}

export interface Sources {
  readonly vendor: string;
  readonly quantity: number;
  readonly documents: readonly { readonly name: string; readonly text: string }[];
  /** The fact-checker's answer; empty if there is none. */
  readonly ruling: string;
}

export function offerFrom({ vendor, quantity, documents, ruling }: Sources): Priced {
  const prices = documents.flatMap(({ name, text }) => {
    const each = priceIn(text, quantity);
    return each === undefined ? [] : [{ document: name, each }];
  });
  // Contradicting prices that nobody has settled count as no price.
  const chosen =
    prices.length === 1 ? prices[0] : prices.find(({ document }) => ruling.startsWith(`${document} holds`));
  const all = documents.map(({ text }) => text).join("\n");
  const number = (pattern: RegExp): number | undefined => {
    const found = pattern.exec(all)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  return {
    vendor,
    prices,
    each: chosen?.each,
    shipping: /Shipping is \$([\d.]+\d)/.exec(all)?.[1],
    deliveryWeeks: number(/Delivery within (\d+) weeks/),
    warrantyMonths: number(/Warranty (\d+) months/),
  };
}

/** The unit price for that quantity: of the volume prices, the last one whose minimum is reached. */
function priceIn(text: string, quantity: number): string | undefined {
  let price = /\$([\d.]+\d) a piece/.exec(text)?.[1];
  for (const [, from, each] of text.matchAll(/from (\d+) pieces \$([\d.]+\d) a piece/g))
    if (quantity >= Number(from)) price = each;
  return price;
}

/** An offer as one line of text, which `readOffer` can parse. */
export function offerLine({ vendor, total, each, deliveryWeeks, warrantyMonths }: Offer): string {
  const parts = [
    total !== undefined
      ? `$${total} in all`
      : each !== undefined
        ? `$${each} a piece, shipping not known`
        : "no price found",
    deliveryWeeks === undefined ? "delivery not known" : `delivery within ${deliveryWeeks} weeks`,
    warrantyMonths === undefined ? "warranty not known" : `warranty ${warrantyMonths} months`,
  ];
  return `${vendor}: ${parts.join("; ")}.`;
}

/** Parses a line of `offerLine`, also inside other text; undefined if there is none. */
export function readOffer(line: string): Offer | undefined {
  const vendor = /(\w+): (?:\$[\d.]+ |no price found)/.exec(line)?.[1];
  if (vendor === undefined) return undefined;
  const weeks = /delivery within (\d+) weeks/.exec(line)?.[1];
  const months = /warranty (\d+) months/.exec(line)?.[1];
  return {
    vendor,
    total: /\$([\d.]+\d) in all/.exec(line)?.[1],
    deliveryWeeks: weeks === undefined ? undefined : Number(weeks),
    warrantyMonths: months === undefined ? undefined : Number(months),
  };
}
