import {
  type Agent,
  agentName,
  type HireLeaf,
  type HireOutcome,
  type JsonValue,
  type Leaf,
  type LLMClient,
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
  type ToolResult,
} from "@ravi/kernel";
import { toolFailure } from "@ravi/kernel/loop";
import { DelegatingContext } from "./delegating-context.ts";
import { Observer } from "./observer.ts";
import { denialOf } from "./permit.ts";
import type { Services } from "./services.ts";

/** An agent's own permissions, audit and telemetry, around everything that it does. There only where one of them is. */
export class GovernedContext extends DelegatingContext {
  readonly observer: Observer;
  private readonly permissions: Permissions | undefined;
  private readonly isObserved: boolean;

  constructor(inner: RunContext, { permissions, telemetry, auditLog }: Services) {
    super(inner);
    this.permissions = permissions;
    this.observer = new Observer(inner, { telemetry, auditLog });
    this.isObserved = telemetry !== undefined || auditLog !== undefined;
  }

  override async llm(
    model: LLMClient,
    request: ModelRequest,
    options?: { readonly wrapUp?: boolean | undefined },
  ): Promise<ModelResponse> {
    const denied = await this.denial("llm", model.id);
    if (denied !== undefined) throw refusal(denied);
    return this.inner.llm(this.observedModel(model), request, options);
  }

  override async tool<R>(call: ToolCall, tool: Tool<unknown, R>): Promise<ToolResult<R>> {
    const denied = await this.denial("tool", tool.name, argumentsOf(call));
    if (denied !== undefined) return toolFailure(denied);
    return this.inner.tool(call, this.observedTool(tool));
  }

  override async hire<T>(leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
    const denied = await this.denial("hire", agentName(leaf.agent.id), leaf.input);
    return denied === undefined ? this.inner.hire(leaf) : { status: "denied", error: refusal(denied) };
  }

  override async spawn<T>(
    agent: Agent<T>,
    options: Omit<HireLeaf<T>, "kind" | "agent">,
  ): Promise<RunHandle<T>> {
    const denied = await this.denial("hire", agentName(agent.id), options.input);
    if (denied !== undefined) throw refusal(denied);
    return this.inner.spawn(agent, options);
  }

  /** All are asked about in order; those that are denied are not in the batch, and have their outcome all the same. */
  protected override async runLeaves(leaves: readonly Leaf[]): Promise<Outcome[]> {
    const outcomes: (Outcome | undefined)[] = [];
    const allowed: Leaf[] = [];
    for (const leaf of leaves) {
      const denied = await this.denialOfLeaf(leaf);
      outcomes.push(denied === undefined ? undefined : denialOutcome(leaf, denied));
      if (denied === undefined) allowed.push(this.observedLeaf(leaf));
    }
    const made = allowed.length === 0 ? [] : await this.inner.batch(allowed);
    let next = 0;
    return outcomes.flatMap((outcome) => outcome ?? made[next++] ?? []);
  }

  private denialOfLeaf(leaf: Leaf): Promise<string | undefined> {
    if (leaf.kind === "llm") return this.denial("llm", leaf.model.id);
    if (leaf.kind === "tool") return this.denial("tool", leaf.tool.name, argumentsOf(leaf.call));
    return this.denial("hire", agentName(leaf.agent.id), leaf.input);
  }

  private async denial(
    action: PermissionRequest["action"],
    target: string,
    args?: JsonValue | undefined,
  ): Promise<string | undefined> {
    if (this.permissions === undefined) return undefined;
    const denied = await denialOf(this.permissions, this.inner, action, target, args);
    if (denied !== undefined) await this.observer.denied(action, target, denied);
    return denied;
  }

  private observedLeaf(leaf: Leaf): Leaf {
    if (leaf.kind === "llm") return { ...leaf, model: this.observedModel(leaf.model) };
    return leaf.kind === "tool" ? { ...leaf, tool: this.observedTool(leaf.tool) } : leaf;
  }

  private observedModel(model: LLMClient): LLMClient {
    return this.isObserved ? this.observer.model(model) : model;
  }

  private observedTool<R>(tool: Tool<unknown, R>): Tool<unknown, R> {
    return this.isObserved ? this.observer.tool(tool) : tool;
  }
}

/** As a rule can read them; what is no JSON is shown as it is, and is refused by the tool anyway. */
function argumentsOf({ arguments: text }: ToolCall): JsonValue {
  try {
    return text === "" ? {} : parseJson(text, "arguments");
  } catch {
    return text;
  }
}

function refusal(reason: string): MiddlewareTermination {
  return new MiddlewareTermination({ layer: "permissions", reason });
}

function denialOutcome(leaf: Leaf, reason: string): Outcome {
  if (leaf.kind === "tool") return { status: "completed", result: toolFailure(reason) };
  return { status: leaf.kind === "hire" ? "denied" : "failed", error: refusal(reason) };
}
