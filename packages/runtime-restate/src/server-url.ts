import { InvalidValueError } from "@ravi/kernel";

/**
 * Checks an address of the server and removes a slash at its end. A refused address is not shown, since it may contain a password.
 */
export function serverUrl(field: string, url: string, example: string): string {
  if (!URL.canParse(url)) {
    const expected = `a URL such as ${example}`;
    throw new InvalidValueError({ field, value: "another value (not shown)", expected });
  }
  const { username, password } = new URL(url);
  if (username !== "" || password !== "") {
    // `fetch` refuses credentials in a URL, and its error message would show them.
    const expected = "a URL without user name and password; send them as a header: headers.authorization";
    throw new InvalidValueError({ field, value: "a URL with credentials (not shown)", expected });
  }
  return url.replace(/\/$/, "");
}

/**
 * Why a request got no answer. Redirects are not followed (`redirect: "manual"`): the request may carry a key, and another server must
 * not get it.
 */
export function refusalOf(status: number, text: string): string {
  if (status >= 300 && status < 400)
    return `was redirected (${status}), which is not followed; give the address that it leads to`;
  return `was refused with ${status}: ${text.slice(0, 500)}`;
}
