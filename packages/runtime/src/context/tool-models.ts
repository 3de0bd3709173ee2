import type {
  AbortSignalLike,
  EffectScope,
  LLMClient,
  ModelRequest,
  ModelResponse,
  Span,
} from "@ravi/kernel";
import { asItIs, Attempt } from "./money/attempt.ts";
import { Bill } from "./money/bill.ts";
import type { Execution } from "./execution.ts";
import { makeReported } from "./report-call.ts";
import type { Stillness } from "./stillness.ts";

/** The tool call that models are asked in. */
interface AskingTool {
  readonly exec: Execution;
  readonly key: string;
  readonly span: Span | undefined;
}

/** The model calls that a tool makes during one call. Most tools make none. */
export class ToolModels {
  /** The sum of what they have cost. */
  readonly bill = new Bill();
  private readonly effect: AskingTool;
  private calls = 0;

  constructor(effect: AskingTool) {
    this.effect = effect;
  }

  ask(
    model: LLMClient,
    request: ModelRequest,
    signal: AbortSignalLike | undefined,
    scope: EffectScope,
    timed: Stillness | undefined,
  ): Promise<ModelResponse> {
    const { exec, key, span } = this.effect;
    const bill = new Bill(this.bill);
    const number = ++this.calls;
    const call = { key: `${key}/llm#${number}`, model, request };
    // Each call has a key of its own: for a key that it knows, a provider returns the answer that it gave before.
    const idempotencyKey = `${scope.idempotencyKey}/llm#${number}`;
    const attempt = new Attempt({
      exec,
      model,
      request,
      signal,
      idempotencyKey,
      wrapUp: false,
      bill,
      scope,
      isNested: true,
      timed,
      sink: undefined,
      accept: asItIs,
    });
    return makeReported(exec, call, bill, span, () => attempt.run());
  }
}
