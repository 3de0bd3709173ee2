import { createHash } from "node:crypto";
import { SessionId } from "@ravi/kernel";

const MAX_HINT = 40;

/**
 * The name of a session's file, without its ending. What tells two sessions apart is the hash: it has one case, no
 * separators and one length, whatever the id holds. The hint before it is for people who look into the folder.
 */
export function fileNameOf(id: string): string {
  const hash = createHash("sha256").update(SessionId(id), "utf8").digest("hex");
  const hint = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, MAX_HINT);
  return `s-${hint}-${hash}`;
}
