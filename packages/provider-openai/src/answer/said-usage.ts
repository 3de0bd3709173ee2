import type { Usage } from "@ravi/kernel";

/** The usage as a field of the response. Left out if it is unknown or all zeros: a prompt is never empty, so nobody has counted. */
export function saidUsage(usage: Usage | undefined): { readonly usage?: Usage } {
  return usage === undefined || usage.inputTokens + usage.outputTokens === 0 ? {} : { usage };
}
