import type { Priority } from "@ravi/kernel";

// What the runs of a killed process do. It is plain JSON, since the test makes it up and the process reads it.

/** How the server answers a model call. It is in the prompt. */
export interface CallWork {
  readonly ms: number;
  /** How the first tries fail. What breaks off is charged, the rest is not. */
  readonly fault?: "busy" | "down" | "refused" | "broken" | undefined;
}

export interface ToolWork {
  readonly ms: number;
  readonly idempotent: boolean;
  readonly needsApproval: boolean;
  readonly way: "value" | "large" | "throws" | "asks";
}

export interface Terms {
  readonly priority: Priority;
  readonly onFull: "deny" | "queue";
  readonly onPreempt: "park" | "return";
}

export type LeafWork =
  | { readonly do: "llm"; readonly call: CallWork }
  | { readonly do: "tool"; readonly tool: ToolWork }
  | { readonly do: "hire"; readonly team: Work; readonly terms: Terms }
  /** A ReActAgent whose model asks for a tool so many times; or an OrchestratorAgent, whose model asks two of these each time. */
  | { readonly do: "loop" | "lead"; readonly rounds: number; readonly call: CallWork; readonly terms: Terms };

export type StepWork =
  | LeafWork
  | { readonly do: "batch"; readonly leaves: readonly LeafWork[] }
  | { readonly do: "spawn"; readonly team: Work; readonly terms: Terms }
  | { readonly do: "sleep"; readonly ms: number }
  | { readonly do: "join" | "wait" | "receive" | "take" | "record" | "facts" | "remember" };

export type Work = readonly StepWork[];

export interface RunWork {
  readonly runId: string;
  readonly steps: Work;
  readonly maxAgents: number;
  readonly maxTokens: number;
}
