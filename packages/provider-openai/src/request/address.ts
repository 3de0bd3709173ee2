/** A path is none, also with the letter of a drive before it: servers refuse the whole request for it. */
const ADDRESS = /^[a-z][a-z\d+.-]+:/i;

/** Whether it can be sent as where something is: a URL, or a `data:` URL. */
export function isAddress(url: string): boolean {
  return ADDRESS.test(url);
}
