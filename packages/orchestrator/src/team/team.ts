import {
  agentName,
  type ChatMessage,
  type RestartPolicy,
  type RunContext,
  type RunHandle,
  type ToolCall,
  type ToolResult,
} from "@ravi/kernel";
import type { Hired, LoopExtension } from "@ravi/kernel/loop";
import { HIRE_HELPER } from "./helpers.ts";
import { type Attempt, restartCrashed } from "./restart.ts";
import { describeOutcome } from "./describe-outcome.ts";

export interface TeamOptions {
  readonly retryPolicy: RestartPolicy | undefined;
  /** Undefined if the model may not hire helpers. */
  readonly maxHelpers: number | undefined;
}

/** A sub-agent that works on after its time limit. */
interface LateAgent {
  readonly name: string;
  readonly task: string;
  readonly handle: RunHandle;
}

/** How much of a task is quoted to tell it from another. */
const TASK_CHARS = 200;

/** The agents that one run of an orchestrator has hired, and their outcomes. */
export class Team implements LoopExtension {
  private readonly ctx: RunContext;
  private readonly options: TeamOptions;
  private readonly late: LateAgent[] = [];
  private handoffs = 0;
  private helpers = 0;

  constructor(ctx: RunContext, options: TeamOptions) {
    this.ctx = ctx;
    this.options = options;
  }

  readonly before = (call: ToolCall): string | undefined => {
    const { maxHelpers } = this.options;
    if (call.name !== HIRE_HELPER || maxHelpers === undefined || this.helpers < maxHelpers) return undefined;
    return `no more helpers can be hired: the limit of ${maxHelpers} is reached; hand the work to another agent, or do it yourself`;
  };

  readonly onHire = (call: ToolCall): void => {
    if (call.name === HIRE_HELPER) this.helpers++;
  };

  readonly afterHires = async (hires: readonly Hired[]): Promise<readonly ToolResult[]> => {
    const { retryPolicy } = this.options;
    const attempts = hires.map(({ leaf, outcome }): Attempt => {
      const id = `${this.ctx.execId}/handoff#${++this.handoffs}`;
      return { id, leaf, outcome, restarts: 0 };
    });
    // A helper that was denied a slot does not count.
    for (const { call, outcome } of hires)
      if (call.name === HIRE_HELPER && outcome.status === "denied") this.helpers--;
    if (retryPolicy !== undefined) await restartCrashed(this.ctx, retryPolicy, attempts);
    return attempts.map(({ leaf, outcome, restarts }) => {
      const name = agentName(leaf.agent.id);
      if (outcome.status === "timedOut") this.late.push({ name, task: leaf.input, handle: outcome.handle });
      return describeOutcome(name, outcome, restarts);
    });
  };

  /** Agents that were late and left to work are awaited before the orchestrator answers: their work was paid for. */
  readonly beforeAnswer = async (): Promise<readonly ChatMessage[]> => {
    const messages: ChatMessage[] = [];
    const names = this.late.map(({ name }) => name);
    for (;;) {
      const [next] = this.late;
      if (next === undefined) return messages;
      const outcome = await this.ctx.join(next.handle);
      this.late.shift();
      const { content } = describeOutcome(next.name, outcome, 0);
      const isAlone = names.indexOf(next.name) === names.lastIndexOf(next.name);
      // Two answers of the same agent need the task that they belong to.
      const task = isAlone ? "" : ` to the task: ${next.task.slice(0, TASK_CHARS).toWellFormed()}`;
      messages.push({ role: "user", content: `[late answer from ${next.name}${task}] ${textOf(content)}` });
    }
  };

  /** Cancels agents that are still running, because none may outlive the orchestrator. */
  dismiss(): void {
    for (const { handle } of this.late.splice(0))
      handle.cancel(`${this.ctx.agentId}, which hired it, has ended`);
  }
}

function textOf(content: ToolResult["content"]): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
