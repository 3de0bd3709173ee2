import { secretPatterns, truncateText } from "@ravi/kernel/loop";

const SECRETS = secretPatterns("[redacted]");

/** The text without anything that looks like a key: traces are read by more people than the program. At most `max` characters. */
export function clean(text: string, max: number): string {
  let cleaned = text;
  for (const [pattern, instead] of SECRETS) cleaned = cleaned.replaceAll(pattern, instead);
  // Last, because a half of a key is not recognised.
  return truncateText(cleaned, max, (missing) => `\n[... ${missing} characters were left out ...]\n`);
}
