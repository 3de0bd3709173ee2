import { createHash } from "node:crypto";

const SEAL = "loopback-sealed:";

/** Reasoning as a server gives it out: the client can carry it, and not read it. Here it only looks like that. */
export function seal(text: string): string {
  return SEAL + Buffer.from(text, "utf8").toString("base64url");
}

/** Whether this kind of server has sealed it. */
export function isSealed(text: string): boolean {
  return text.startsWith(SEAL);
}

/** An id that only depends on the text, so that the same answer is the same each time. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
