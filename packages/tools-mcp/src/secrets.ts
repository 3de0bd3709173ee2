import { secretRemover } from "@ravi/kernel/loop";
import { headerSecrets, scrubber, urlSecrets } from "@ravi/kernel/provider";

/** Removes secrets: from errors also what only looks like one; from results only what is known, since a model may need the rest. */
export interface Cleaning {
  readonly inErrors: (text: string) => string;
  readonly inResults: (text: string) => string;
}

const HIDDEN = "[redacted]";
/** Shorter ones are parts of ordinary words. */
const SHORTEST = 6;

/** Names of headers and variables whose values are secret. */
const SECRET_NAME = /auth|key|token|secret|cookie|passw|pwd|credential|signature|session|private|dsn/i;

export function cleaning(secrets: Iterable<string>): Cleaning {
  const known = Array.from(secrets, (secret) => secret.trim()).filter(({ length }) => length >= SHORTEST);
  const remove = secretRemover(known, HIDDEN);
  const scrub = scrubber(known);
  return {
    inErrors: (text) => scrub(text.toWellFormed()),
    inResults: (text) => remove(text.toWellFormed()),
  };
}

/** Words that stand before a secret. */
const SCHEME = /^(?:bearer|basic|digest|negotiate|apikey|token)$/i;

/**
 * The secret values among headers or variables: those with a secret's name, and passwords in addresses. Others, such as a folder, are
 * ordinary parts of results.
 */
export function secretValues(named: Readonly<Record<string, string>>): string[] {
  return Object.entries(named).flatMap(([name, value]) => [
    ...(SECRET_NAME.test(name) ? headerSecrets({ [name]: value }).filter((word) => !SCHEME.test(word)) : []),
    ...inAddress(value),
  ]);
}

/** The parts of an address that may be secret. */
export function inAddress(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const url = new URL(address);
  return [url.password, decoded(url.password), ...urlSecrets(url)].filter((part) => part !== "");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
