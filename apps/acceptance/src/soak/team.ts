import { setTimeout as sleep } from "node:timers/promises";
import {
  type Agent,
  type AbortSignalLike,
  defineTool,
  type LLMClient,
  Priority,
  type Tool,
} from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { RetryPolicy } from "@ravi/supervision";
import * as z from "zod";
import { faultOf, wholeOf } from "./chance.ts";

/** What a deputy may spend, together with those that it hires. */
export const DEPUTY_TOKENS = 3_000;

export interface TeamOptions {
  readonly model: LLMClient;
  readonly seed: number;
  /** The number of the process, so that a tool that is called again may do better. */
  readonly life: number;
  /** A planted fault: every tool may be repeated. */
  readonly repeatsTools: boolean;
  /** An effect that the journal does not see. */
  did(key: string): void;
  /** Called when a tool has done what cannot be taken back, before it returns. */
  afterEffect(): Promise<void>;
}

/** The root of every tree. Its model hands work to helpers, one of which leads a helper itself, and publishes what it gets. */
export function teamOf(options: TeamOptions): Agent {
  const { model } = options;
  const common = { model, maxSteps: 12 };
  const researcher = new ReActAgent({
    ...common,
    name: "researcher",
    instructions: "researcher",
    tools: [lookUp(options), survey(options)],
  });
  const writer = new ReActAgent({
    ...common,
    name: "writer",
    instructions: "writer",
    tools: [write(options, "file", false), write(options, "publish", true)],
  });
  const retryPolicy = new RetryPolicy({ maxRetries: 2, baseMs: 5, random: () => 0.5 });
  const deputy = new OrchestratorAgent({
    ...common,
    name: "deputy",
    instructions: "deputy",
    subAgents: [{ agent: researcher, onFull: "queue", onPreempt: "return", askTimeoutS: 2 }],
    retryPolicy,
  });
  return new OrchestratorAgent({
    ...common,
    name: "lead",
    instructions: "lead",
    tools: [write(options, "publish", true)],
    subAgents: [
      { agent: researcher, onFull: "queue", askTimeoutS: 10 },
      { agent: writer, priority: Priority.HIGH, askTimeoutS: 2, onTimeout: "leave" },
      { agent: deputy, executionBudget: { maxTokens: DEPUTY_TOKENS } },
    ],
    retryPolicy,
  });
}

const input = z.object({ what: z.string() });

function lookUp({ seed, life }: TeamOptions): Tool {
  return defineTool({
    name: "look_up",
    description: "",
    input,
    idempotent: true,
    timeoutS: 0.3,
    async execute({ what }, { idempotencyKey: key, signal }) {
      await work({ seed, life, key, signal });
      return `found ${what} ${"x".repeat(wholeOf(0, 300, seed, key, "length"))}`;
    },
  });
}

/** Asks a model itself. */
function survey({ seed, life, model }: TeamOptions): Tool {
  return defineTool({
    name: "survey",
    description: "",
    input,
    idempotent: true,
    timeoutS: 2,
    async execute({ what }, context) {
      const { idempotencyKey: key, signal } = context;
      await work({ seed, life, key, signal });
      const { message } = await context.llm(model, { messages: [{ role: "user", content: what }] });
      return message.content;
    },
  });
}

/** It cannot be taken back. */
function write(options: TeamOptions, name: string, needsApproval: boolean): Tool {
  const { seed, life, repeatsTools } = options;
  return defineTool({
    name,
    description: "",
    input,
    needsApproval,
    idempotent: repeatsTools,
    timeoutS: 1,
    async execute({ what }, { idempotencyKey: key, signal }) {
      options.did(key);
      await options.afterEffect();
      await work({ seed, life, key, signal });
      return `wrote ${what}`;
    },
  });
}

interface Working {
  readonly seed: number;
  readonly life: number;
  readonly key: string;
  readonly signal: AbortSignalLike;
}

/** Takes a moment, fails, or hangs until it is cancelled. */
async function work({ seed, life, key, signal }: Working): Promise<void> {
  await sleep(wholeOf(0, 20, seed, key, "ms"));
  const fault = faultOf(["throws", "hangs"] as const, seed, life, key, "tool");
  if (fault === "throws") throw new Error(`planted: ${key} fails`);
  if (fault === "hangs") await whenAborted(signal);
}

function whenAborted(signal: AbortSignalLike): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(new Error("planted: it hung"));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
}
