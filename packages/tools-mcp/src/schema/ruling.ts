/** What is wrong with a part of a value. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What a schema says of a value: wrong if there are issues; right if there are none and it is certain; otherwise open. */
export interface Ruling {
  readonly issues: readonly Issue[];
  readonly isCertain: boolean;
}

export const NOTHING_WRONG: Ruling = Object.freeze({ issues: Object.freeze([]), isCertain: true });
export const UNKNOWN: Ruling = Object.freeze({ issues: Object.freeze([]), isCertain: false });

/** More would not be read: the model is told of ten. */
const MAX_ISSUES = 11;

export function wrong(path: readonly PropertyKey[], message: string): Ruling {
  return { issues: [{ path, message }], isCertain: true };
}

/** Whether it is known that the value is right, or known that it is wrong. */
export function isDecided({ issues, isCertain }: Ruling): boolean {
  return issues.length > 0 || isCertain;
}

/** All of them have to be right. */
export function together(rulings: readonly Ruling[]): Ruling {
  const issues = rulings.flatMap((each) => each.issues).slice(0, MAX_ISSUES);
  return { issues, isCertain: rulings.every(({ isCertain }) => isCertain) };
}
