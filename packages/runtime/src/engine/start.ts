import type { Agent, ExecId, ExecutionStart, RunScope, Supervision } from "@ravi/kernel";
import { scopeForWorker } from "@ravi/kernel/loop";
import type { Tree } from "../tree/tree.ts";

export interface StartOptions extends Omit<ExecutionStart, "scope" | "tenantId"> {
  readonly tree: Tree;
}

/** What one execution in this process begins with. What the whole tree shares is read from the tree when it is needed. */
export class InProcessStart implements ExecutionStart {
  readonly agent: Agent;
  readonly execId: ExecId;
  readonly supervision: Supervision;
  readonly input: string;
  readonly attachments: ExecutionStart["attachments"];
  readonly deadline: number | null;
  readonly onPreempt: ExecutionStart["onPreempt"];
  readonly isResumed: boolean;
  readonly parentSpan: ExecutionStart["parentSpan"];
  private readonly tree: Tree;
  private ownScope: RunScope | undefined;

  constructor(options: StartOptions) {
    const { tree, agent, execId, supervision, input, attachments, deadline, onPreempt, isResumed } = options;
    this.tree = tree;
    this.agent = agent;
    this.execId = execId;
    this.supervision = supervision;
    this.input = input;
    this.attachments = attachments;
    this.deadline = deadline;
    this.onPreempt = onPreempt;
    this.isResumed = isResumed;
    this.parentSpan = options.parentSpan;
  }

  get scope(): RunScope {
    const { tree, supervision } = this;
    if (supervision.agentId === tree.root.agentId) return tree.scope;
    return (this.ownScope ??= scopeForWorker(tree.scope, supervision.agentId));
  }

  get tenantId(): string | null {
    return this.tree.tenantId;
  }
}
