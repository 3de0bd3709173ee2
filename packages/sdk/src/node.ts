/** What the packages need and Node has from 22 on. */
const NEEDED = "withResolvers";

/** An older Node would fail at whatever it lacks first, with a word that helps nobody. */
export function checkNode(promise: object, host: { readonly process?: { readonly version: string } }): void {
  if (NEEDED in promise) return;
  const version = host.process?.version ?? "no Node";
  throw new Error(`@ravi/sdk needs Node 22.18 or newer, and this is ${version}: run it with a newer Node`);
}
