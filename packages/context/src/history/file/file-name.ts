import { nodeModule } from "./node-module.ts";

const MAX_HINT = 24;

/**
 * The name of a key's file. The hash identifies the key: it has one case, no separators and a fixed length, whatever the ids
 * contain. The readable parts before it are for people who look into the folder.
 */
export function fileNameOf(keyText: string): string {
  const [sessionId, agentName] = JSON.parse(keyText) as [string, string, string | null];
  const hash = nodeModule("node:crypto").hash("sha256", keyText, "hex");
  return `h-${hint(sessionId)}-${hint(agentName)}-${hash}.jsonl`;
}

function hint(id: string): string {
  return id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, MAX_HINT);
}
