import type {
  AbortSignalLike,
  EffectScope,
  FunctionContext,
  LLMClient,
  ModelRequest,
  ModelResponse,
  Tool,
  ToolContext,
  ToolResult,
} from "@ravi/kernel";
import type { Approvable } from "./approval.ts";
import type { Execution } from "./execution.ts";
import { LevelCall } from "./level-call.ts";

/** Around one tool call. */
export class FunctionCall extends LevelCall implements FunctionContext {
  readonly key: string;
  readonly tool: Tool;
  readonly callId: string;
  arguments: unknown;
  result: ToolResult | undefined;

  constructor(exec: Execution, { key, tool, call }: Approvable, args: unknown) {
    super(exec);
    this.key = key;
    this.tool = tool;
    this.callId = call.id;
    this.arguments = args;
  }

  get functionName(): string {
    return this.tool.name;
  }
}

/** A tool at work, as its context needs it. */
interface Working {
  readonly exec: Execution;
  askModel(
    model: LLMClient,
    request: ModelRequest,
    signal: AbortSignalLike | undefined,
    scope: EffectScope,
  ): Promise<ModelResponse>;
}

/** What a tool gets beside its arguments; made for those who look at it. */
export class CalledTool implements ToolContext {
  private readonly running: Working;
  private readonly own: AbortSignalLike | undefined;
  private readonly effect: EffectScope;

  constructor(running: Working, own: AbortSignalLike | undefined, effect: EffectScope) {
    this.running = running;
    this.own = own;
    this.effect = effect;
  }

  get signal(): AbortSignalLike {
    return this.own ?? this.running.exec.signal;
  }

  get scope(): ToolContext["scope"] {
    return this.running.exec.scope;
  }

  get idempotencyKey(): string {
    return this.effect.idempotencyKey;
  }

  /** A function of its own, so that it may be taken from the context. */
  get llm(): ToolContext["llm"] {
    return (model, request) => this.running.askModel(model, request, this.own, this.effect);
  }
}
