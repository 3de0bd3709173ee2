import { join } from "node:path";
import { BENCH } from "../harness/child.ts";

/** A framework that Ravi is compared with. Its versions are in `peers/<name>/package.json`, with a lockfile beside it. */
export interface Peer {
  readonly name: string;
  readonly title: string;
  /** The framework's main package. */
  readonly main: string;
  /** The modules that its users import. */
  readonly entry: readonly string[];
}

export const PEERS: readonly Peer[] = [
  {
    name: "pi",
    title: "pi",
    main: "@earendil-works/pi-agent-core",
    entry: ["@earendil-works/pi-agent-core"],
  },
  { name: "ai", title: "AI SDK", main: "ai", entry: ["ai"] },
  { name: "strands", title: "Strands", main: "@strands-agents/sdk", entry: ["@strands-agents/sdk"] },
  { name: "openai-agents", title: "OpenAI Agents", main: "@openai/agents", entry: ["@openai/agents"] },
  { name: "langchain", title: "LangChain", main: "langchain", entry: ["langchain"] },
  {
    name: "mastra",
    title: "Mastra",
    main: "@mastra/core",
    entry: ["@mastra/core/agent", "@mastra/core/tools"],
  },
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
