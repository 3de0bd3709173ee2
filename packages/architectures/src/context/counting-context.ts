import type {
  Agent,
  ExecId,
  HireLeaf,
  HireOutcome,
  Leaf,
  LLMClient,
  LlmOptions,
  ModelRequest,
  ModelResponse,
  Outcome,
  RunContext,
  RunHandle,
} from "@ravi/kernel";
import { DelegatingContext } from "./delegating-context.ts";
import type { SpendCounter } from "./spend.ts";

/**
 * Counts everything that goes through it, each exactly once: every model call, and for every hire the usage that the host reports. So no
 * strategy can forget to count, or count twice.
 */
export class CountingContext extends DelegatingContext {
  private readonly spend: SpendCounter;
  /** Children that are still running: they are counted once, when they are joined. */
  private readonly living = new Set<ExecId>();

  constructor(inner: RunContext, spend: SpendCounter) {
    super(inner);
    this.spend = spend;
  }

  override llm(model: LLMClient, request: ModelRequest, options?: LlmOptions): Promise<ModelResponse> {
    return this.inner.llm(model, request, options).then(this.count);
  }

  override async hire<T>(leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
    return this.take(await this.inner.hire(leaf));
  }

  override async spawn<T>(
    agent: Agent<T>,
    options: Omit<HireLeaf<T>, "kind" | "agent">,
  ): Promise<RunHandle<T>> {
    const handle = await this.inner.spawn(agent, options);
    this.living.add(handle.execId);
    return handle;
  }

  override async join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>> {
    const outcome = await this.inner.join(handle);
    return this.living.delete(handle.execId) ? this.take(outcome) : outcome;
  }

  /** A batch of tools only is passed on without even an additional promise. */
  protected override runLeaves(leaves: readonly Leaf[]): Promise<Outcome[]> {
    return leaves.every(isTool) ? this.inner.batch(leaves) : this.runCounted(leaves);
  }

  private async runCounted(leaves: readonly Leaf[]): Promise<Outcome[]> {
    const outcomes = await this.inner.batch(leaves);
    for (const [at, outcome] of outcomes.entries()) {
      const kind = leaves[at]?.kind;
      if (kind === "hire") this.take(outcome as HireOutcome);
      else if (kind === "llm" && "response" in outcome) this.spend.addCall(outcome.response);
    }
    return outcomes;
  }

  private readonly count = (response: ModelResponse): ModelResponse => {
    this.spend.addCall(response);
    return response;
  };

  private take<T>(outcome: HireOutcome<T>): HireOutcome<T> {
    if (outcome.status === "timedOut") this.living.add(outcome.handle.execId);
    else if (outcome.usage !== undefined) this.spend.add(outcome.usage);
    return outcome;
  }
}

function isTool({ kind }: Leaf): boolean {
  return kind === "tool";
}
