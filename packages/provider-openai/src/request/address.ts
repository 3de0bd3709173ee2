/** A scheme of at least two letters, so that a Windows path (`C:\`) is no URL: servers would refuse the whole request. */
const ADDRESS = /^[a-z][a-z\d+.-]+:/i;

/** Whether it is a URL or a `data:` URL. */
export function isAddress(url: string): boolean {
  return ADDRESS.test(url);
}
