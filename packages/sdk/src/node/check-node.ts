/** `Promise.withResolvers`, which the packages need and which Node has since version 22. */
const NEEDED = "withResolvers";

/**
 * Throws if Node is too old. Without this check it would fail at the first missing function, with an error that does not name
 * the cause.
 */
export function checkNode(promise: object, host: { readonly process?: { readonly version: string } }): void {
  if (NEEDED in promise) return;
  const version = host.process?.version ?? "not Node";
  throw new Error(`@ravi/sdk needs Node 22.18 or newer, but this is ${version}: run it with a newer Node`);
}
