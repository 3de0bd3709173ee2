import { join } from "node:path";
import { BENCH } from "../harness/child.ts";

/** A framework that Ravi is compared with. Its versions are in `peers/<name>/package.json`, with a lockfile beside it. */
export interface Peer {
  readonly name: string;
  readonly title: string;
  /** The modules that its users import. */
  readonly entry: readonly string[];
}

export const PEERS: readonly Peer[] = [
  { name: "pi", title: "pi", entry: ["@earendil-works/pi-agent-core"] },
  { name: "ai", title: "AI SDK", entry: ["ai"] },
  { name: "strands", title: "Strands", entry: ["@strands-agents/sdk"] },
  { name: "openai-agents", title: "OpenAI Agents", entry: ["@openai/agents"] },
  { name: "langchain", title: "LangChain", entry: ["langchain"] },
  { name: "mastra", title: "Mastra", entry: ["@mastra/core/agent", "@mastra/core/tools"] },
];

export function folderOf(name: string): string {
  return join(BENCH, "peers", name);
}

/** No peer may send telemetry or traces while it is measured. */
export const PEER_ENV = {
  LANGSMITH_TRACING: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
} as const;
