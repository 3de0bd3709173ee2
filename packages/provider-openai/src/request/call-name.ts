const LONGEST = 64;

/**
 * The name of a called tool as it is sent. One that a model invented, or that another provider allowed, would make the whole
 * conversation unsendable.
 */
export function callName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, LONGEST) || "unnamed";
}
