import { InvalidValueError } from "@ravi/kernel";

/** An address of the server, without a slash at its end. */
export function serverUrl(field: string, url: string, example: string): string {
  if (URL.canParse(url)) return url.replace(/\/$/, "");
  throw new InvalidValueError({ field, value: url, expected: `a URL such as ${example}` });
}
