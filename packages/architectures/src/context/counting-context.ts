import type {
  Agent,
  ExecId,
  HireLeaf,
  HireOutcome,
  Leaf,
  LLMClient,
  ModelRequest,
  ModelResponse,
  Outcome,
  RunContext,
  RunHandle,
} from "@ravi/kernel";
import { countedAgent, isCounted, usageOf, withoutReport } from "./counted-agent.ts";
import { DelegatingContext } from "./delegating-context.ts";
import type { Spend } from "./spend.ts";

/**
 * Counts what goes through it: every model call, and what every hired agent reports, each exactly once. Nobody who works
 * through it can forget to count, or count twice.
 */
export class CountingContext extends DelegatingContext {
  private readonly spend: Spend;
  /** Children whose report is taken off here, and who may be joined later. */
  private readonly spawned = new Map<ExecId, Agent>();

  constructor(inner: RunContext, spend: Spend) {
    super(inner);
    this.spend = spend;
  }

  override llm(
    model: LLMClient,
    request: ModelRequest,
    options?: { readonly wrapUp?: boolean | undefined },
  ): Promise<ModelResponse> {
    return this.inner.llm(model, request, options).then(this.count);
  }

  override async hire<T>(leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
    const agent = asCounted(leaf.agent);
    const outcome = await this.inner.hire({ ...leaf, agent });
    return this.take(outcome, leaf.agent, agent) as HireOutcome<T>;
  }

  override async spawn<T>(
    agent: Agent<T>,
    options: Omit<HireLeaf<T>, "kind" | "agent">,
  ): Promise<RunHandle<T>> {
    const counted = asCounted(agent);
    const handle = await this.inner.spawn(counted, options);
    this.spawned.set(handle.execId, agent);
    return handle as RunHandle<T>;
  }

  override async join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>> {
    const outcome: HireOutcome = await this.inner.join(handle);
    const agent = this.spawned.get(handle.execId);
    if (agent === undefined || outcome.status === "timedOut") return outcome as HireOutcome<T>;
    this.spawned.delete(handle.execId);
    return this.take(outcome, agent, agent) as HireOutcome<T>;
  }

  /** A turn of tools alone costs nothing here, not even a promise. */
  protected override runLeaves(leaves: readonly Leaf[]): Promise<Outcome[]> {
    return leaves.every(isTool) ? this.inner.batch(leaves) : this.runCounted(leaves);
  }

  private async runCounted(leaves: readonly Leaf[]): Promise<Outcome[]> {
    const counted = leaves.map((leaf) =>
      leaf.kind === "hire" ? { ...leaf, agent: asCounted(leaf.agent) } : leaf,
    );
    const outcomes = await this.inner.batch(counted);
    return outcomes.map((outcome, at) => {
      const [asked, made] = [leaves[at], counted[at]];
      if (asked?.kind === "hire" && made?.kind === "hire")
        return this.take(outcome as HireOutcome, asked.agent, made.agent);
      if (asked?.kind === "llm" && "response" in outcome) this.spend.addCall(outcome.response);
      return outcome;
    });
  }

  private readonly count = (response: ModelResponse): ModelResponse => {
    this.spend.addCall(response);
    return response;
  };

  /** Counts a child. Its report is left on where somebody further in has put it there, and waits for it. */
  private take(outcome: HireOutcome, asked: Agent, made: Agent): HireOutcome {
    if (outcome.status === "timedOut") {
      this.spawned.set(outcome.handle.execId, asked);
      return outcome;
    }
    this.spend.add(usageOf(outcome, made));
    return isCounted(asked) ? outcome : withoutReport(outcome);
  }
}

function isTool({ kind }: Leaf): boolean {
  return kind === "tool";
}

function asCounted(agent: Agent): Agent {
  return isCounted(agent) ? agent : countedAgent(agent, (ctx, spend) => new CountingContext(ctx, spend));
}
