import {
  type Agent,
  agentName,
  type HireLeaf,
  type HireOutcome,
  type JsonValue,
  type Leaf,
  type LLMClient,
  type LlmOptions,
  MiddlewareTermination,
  type ModelRequest,
  type ModelResponse,
  type Outcome,
  parseJson,
  type PermissionRequest,
  type Permissions,
  type RunContext,
  type RunHandle,
  type Tool,
  type ToolCall,
  ToolError,
  type ToolResult,
} from "@ravi/kernel";
import { abortable, denialBy } from "@ravi/kernel/loop";
import { DelegatingContext } from "./delegating-context.ts";
import { Observer } from "./observer.ts";
import type { Services } from "./services.ts";
import { withCalls } from "./with-calls.ts";
import { withExecute } from "./with-execute.ts";

/**
 * Applies an agent's own permissions, audit log and telemetry to everything that it does. Only created if it has one of them. Permission is
 * asked inside the call that is really made, so a replay does not ask again and does not depend on today's policy.
 */
export class GovernedContext extends DelegatingContext {
  readonly observer: Observer;
  private readonly permissions: Permissions | undefined;
  private readonly models = new WeakMap<LLMClient, LLMClient>();
  private readonly tools = new WeakMap<Tool, Tool>();

  constructor(inner: RunContext, { permissions, telemetry, auditLog }: Services) {
    super(inner);
    this.permissions = permissions;
    this.observer = new Observer(inner, { telemetry, auditLog });
  }

  override get lendsSlot(): boolean | undefined {
    return this.permissions === undefined ? super.lendsSlot : false;
  }

  override async llm(model: LLMClient, request: ModelRequest, options?: LlmOptions): Promise<ModelResponse> {
    return this.inner.llm(this.governedModel(model), request, options);
  }

  override async tool<R>(call: ToolCall, tool: Tool<unknown, R>): Promise<ToolResult<R>> {
    return this.inner.tool(call, this.governedTool(tool));
  }

  override async hire<T>(leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
    const denied = await this.hireDenial(leaf);
    return denied === undefined ? this.inner.hire(leaf) : { status: "denied", error: refusal(denied) };
  }

  override async spawn<T>(
    agent: Agent<T>,
    options: Omit<HireLeaf<T>, "kind" | "agent">,
  ): Promise<RunHandle<T>> {
    const denied = await this.hireDenial({ agent, input: options.input });
    if (denied !== undefined) throw refusal(denied);
    return this.inner.spawn(agent, options);
  }

  /** Denied hires are left out of the batch, but still have their outcome in the result. */
  protected override async runLeaves(leaves: readonly Leaf[]): Promise<Outcome[]> {
    const outcomes: (Outcome | undefined)[] = [];
    const allowed: Leaf[] = [];
    for (const leaf of leaves) {
      const denied = leaf.kind === "hire" ? await this.hireDenial(leaf) : undefined;
      outcomes.push(denied === undefined ? undefined : { status: "denied", error: refusal(denied) });
      if (denied === undefined) allowed.push(this.governedLeaf(leaf));
    }
    const made = allowed.length === 0 ? [] : await this.inner.batch(allowed);
    let next = 0;
    return outcomes.flatMap((outcome) => outcome ?? made[next++] ?? []);
  }

  /** A hire has no call inside which to ask, so the answer is recorded in the journal before the hire. */
  private async hireDenial({ agent, input }: Pick<HireLeaf, "agent" | "input">): Promise<string | undefined> {
    if (this.permissions === undefined) return undefined;
    const [target, version] = [agentName(agent.id), agent.version ?? "1"];
    const denied = await this.inner.record(
      `permission:hire:${target}`,
      async () => (await this.denial({ action: "hire", target, version, arguments: input })) ?? null,
    );
    return typeof denied === "string" ? denied : undefined;
  }

  /** A policy that does not answer blocks the run, but not its cancellation or deadline. */
  private async denial(asked: Omit<PermissionRequest, "agentId" | "scope">): Promise<string | undefined> {
    const { permissions, inner, observer } = this;
    if (permissions === undefined) return undefined;
    const { agentId, scope, signal } = inner;
    const asking = denialBy(permissions, { ...asked, agentId, scope }, (denial) => denial);
    const denied = await abortable(asking, signal);
    if (denied === undefined) return undefined;
    await observer.denied(asked.action, denied.target, denied.reason);
    return denied.message;
  }

  private governedLeaf(leaf: Leaf): Leaf {
    if (leaf.kind === "llm") return { ...leaf, model: this.governedModel(leaf.model) };
    return leaf.kind === "tool" ? { ...leaf, tool: this.governedTool(leaf.tool) } : leaf;
  }

  private governedModel(model: LLMClient): LLMClient {
    let governed = this.models.get(model);
    if (governed === undefined) this.models.set(model, (governed = this.guardModel(model)));
    return governed;
  }

  private guardModel(model: LLMClient): LLMClient {
    const observed = this.observer.isActive ? this.observer.model(model) : model;
    if (this.permissions === undefined) return observed;
    const ask = async (): Promise<void> => {
      const denied = await this.denial({ action: "llm", target: observed.id });
      if (denied !== undefined) throw refusal(denied);
    };
    return withCalls(observed, {
      async generate(request, options) {
        await ask();
        return observed.generate(request, options);
      },
      async *stream(make) {
        await ask();
        yield* make();
      },
    });
  }

  private governedTool<R>(tool: Tool<unknown, R>): Tool<unknown, R> {
    let governed = this.tools.get(tool);
    if (governed === undefined) this.tools.set(tool, (governed = this.guardTool(tool)));
    return governed as Tool<unknown, R>;
  }

  private guardTool(tool: Tool): Tool {
    const observed = this.observer.isActive ? this.observer.tool(tool) : tool;
    if (this.permissions === undefined) return observed;
    return withExecute(observed, async (args, context) => {
      const { name } = observed;
      const denied = await this.denial({ action: "tool", target: name, arguments: argumentsOf(args) });
      if (denied !== undefined) throw new ToolError({ toolName: name, message: denied });
      return observed.execute(args, context);
    });
  }
}

/** The arguments as plain JSON for a policy, whatever a schema has made of them; null if that is impossible. */
function argumentsOf(args: unknown): JsonValue {
  try {
    return parseJson(JSON.stringify(args) ?? "null", "arguments");
  } catch {
    return null;
  }
}

function refusal(reason: string): MiddlewareTermination {
  return new MiddlewareTermination({ layer: "permissions", reason });
}
