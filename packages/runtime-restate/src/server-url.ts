import { InvalidValueError } from "@ravi/kernel";

/**
 * Checks an address of the server and removes a slash at its end. A refused address is not shown, since it may contain a password.
 */
export function serverUrl(field: string, url: string, example: string): string {
  if (!URL.canParse(url)) {
    const expected = `a URL such as ${example}`;
    throw new InvalidValueError({ field, value: "(not shown)", expected });
  }
  const { username, password } = new URL(url);
  if (username !== "" || password !== "") {
    // `fetch` refuses credentials in a URL, and its error message would show them.
    const expected =
      "a URL without user name and password; send them in the authorization header, with the option headers";
    throw new InvalidValueError({ field, value: "(not shown)", expected });
  }
  return url.replace(/\/$/, "");
}

/**
 * Why a request got no answer. Redirects are not followed (`redirect: "manual"`): the request may carry a key, and another server must
 * not get it.
 */
export function describeStatus(status: number, text: string): string {
  if (status >= 300 && status < 400)
    return `answered with a redirect (status ${status}), which is not followed; use the address that it leads to`;
  return `answered with status ${status}: ${text.slice(0, 500)}`;
}
