import {
  type AgentId,
  agentName,
  type ExecId,
  type Priority,
  type RunEvent,
  totalTokens,
} from "@ravi/kernel";
import { byHiring, hirePath } from "../hire-path.ts";

export type RowStatus = "working" | "paused" | "completed" | "partial" | "failed" | "cancelled";

/** What is known of one agent. */
export interface Row {
  readonly agentId: AgentId;
  readonly depth: number;
  readonly priority: Priority;
  readonly maxToolCalls: number | null;
  readonly startedAt: number;
  endedAt: number | undefined;
  status: RowStatus;
  toolCalls: number;
  tokens: number;
  costUsd: number;
  /** The last thing it did, or why it stopped. */
  doing: string;
}

/** How often the rules paused and resumed an agent. */
export interface RuleCounts {
  preempted: number;
  resumed: number;
}

/** On what terms an agent works. */
export interface Terms {
  readonly priority: Priority;
  readonly maxToolCalls?: number | undefined;
}

/** The state of a run, built from its events. The views only read it. */
export class Board {
  readonly rows = new Map<ExecId, Row>();
  readonly counts: RuleCounts = { preempted: 0, resumed: 0 };
  private readonly termsOf: (agentName: string) => Terms;

  constructor(termsOf: (agentName: string) => Terms) {
    this.termsOf = termsOf;
  }

  /** Parents before their children, in the order of hiring. */
  get inOrder(): readonly Row[] {
    return [...this.rows.values()].toSorted((a, b) => byHiring(a.agentId, b.agentId));
  }

  get tokens(): number {
    return this.rows.values().reduce((sum, row) => sum + row.tokens, 0);
  }

  get costUsd(): number {
    return this.rows.values().reduce((sum, row) => sum + row.costUsd, 0);
  }

  /** Updates the row of the agent that the event belongs to. */
  take({ agentId, execId, at, event }: RunEvent): void {
    const row = this.rowOf(agentId, execId, at);
    switch (event.type) {
      case "usage":
        row.tokens += totalTokens(event.usage);
        row.costUsd += event.costUsd ?? 0;
        return;
      case "toolCall":
        row.doing = describeCall(event.call.name, event.call.arguments);
        return;
      case "toolResult":
        if (!isHandoff(event.name)) row.toolCalls++;
        return;
      case "completed":
        row.status = event.result.status === "paused" ? "partial" : event.result.status;
        row.doing = event.result.status === "completed" ? "" : `stopped: ${event.result.stopReason}`;
        row.endedAt = at;
        return;
      case "error":
        row.status = event.error.code === "CANCELLED" ? "cancelled" : "failed";
        row.doing = event.error.message;
        row.endedAt = at;
        return;
      default:
        return;
    }
  }

  paused(execId: ExecId): void {
    this.counts.preempted++;
    const row = this.rows.get(execId);
    if (row !== undefined) row.status = "paused";
  }

  resumed(execId: ExecId): void {
    this.counts.resumed++;
    const row = this.rows.get(execId);
    if (row?.status === "paused") row.status = "working";
  }

  private rowOf(agentId: AgentId, execId: ExecId, at: number): Row {
    let row = this.rows.get(execId);
    if (row === undefined) {
      const { priority, maxToolCalls = null } = this.termsOf(agentName(agentId));
      row = {
        agentId,
        depth: hirePath(agentId).length,
        priority,
        maxToolCalls,
        startedAt: at,
        endedAt: undefined,
        status: "working",
        toolCalls: 0,
        tokens: 0,
        costUsd: 0,
        doing: "",
      };
      this.rows.set(execId, row);
    }
    return row;
  }
}

function isHandoff(name: string): boolean {
  return name.startsWith("handoff_");
}

export function describeCall(name: string, argumentsText: string): string {
  const to = /^handoff_(.*)$/.exec(name)?.[1];
  const what = /:\s*"([^"]*)/.exec(argumentsText)?.[1] ?? "";
  return to === undefined ? `${name} ${what}` : `hires ${to}: ${what}`;
}
