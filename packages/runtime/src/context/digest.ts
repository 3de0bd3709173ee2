import { nodeCrypto } from "../platform.ts";

const DIGEST_LENGTH = 27;

/** Short enough to be written down with every call, long enough that no two requests share it. */
export function digest(text: string): string {
  return nodeCrypto().hash("sha256", text, "base64url").slice(0, DIGEST_LENGTH);
}

/** A text that is no longer than its digest stands for itself. */
export function shortDigest(text: string): string {
  return text.length <= DIGEST_LENGTH ? text : digest(text);
}
