import { InvalidValueError } from "@ravi/kernel";

/** An address of the server, without a slash at its end. One that is refused is not shown: it may carry a password. */
export function serverUrl(field: string, url: string, example: string): string {
  if (!URL.canParse(url)) {
    const expected = `a URL such as ${example}`;
    throw new InvalidValueError({ field, value: "another value (not shown)", expected });
  }
  const { username, password } = new URL(url);
  if (username !== "" || password !== "") {
    // `fetch` takes none, and what it says of them would be in every error.
    const expected = "a URL without user name and password; send them as a header: headers.authorization";
    throw new InvalidValueError({ field, value: "a URL with credentials (not shown)", expected });
  }
  return url.replace(/\/$/, "");
}
