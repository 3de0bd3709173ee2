import { createHash } from "node:crypto";

const SEAL = "loopback-sealed:";

/**
 * Reasoning in the form that a server sends it: a client can send it back, but is not meant to read it. Here it is only
 * encoded, not encrypted.
 */
export function seal(text: string): string {
  return SEAL + Buffer.from(text, "utf8").toString("base64url");
}

/** Whether `seal` has produced it. */
export function isSealed(text: string): boolean {
  return text.startsWith(SEAL);
}

/** An id that depends only on the text, so that the same answer always has the same id. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
