import { createHash } from "node:crypto";
import { SessionId } from "@ravi/kernel";

const MAX_HINT = 40;

/**
 * The name of a session's file, without its ending. The hash makes it unique: it is lower-case, has no separators and always
 * the same length, whatever the id contains. The hint before it is for people who look into the folder.
 */
export function fileNameOf(id: string): string {
  const hash = createHash("sha256").update(SessionId(id), "utf8").digest("hex");
  const hint = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, MAX_HINT);
  return `s-${hint}-${hash}`;
}
