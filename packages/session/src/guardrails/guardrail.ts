import type { ContentPart, MaybePromise, ToolCall } from "@ravi/kernel";

/**
 * `warn` adds a note for the model, `block` refuses the call (or, after the call, replaces its result by an error), `halt` ends
 * the turn. The model reads the reason.
 */
export type GuardrailDecision =
  | { readonly action: "allow" }
  | { readonly action: "warn" | "block" | "halt"; readonly reason: string };

/** The result of a tool call, as guardrails see it. */
export interface GuardedResult {
  readonly content: string | readonly ContentPart[];
  readonly isError: boolean;
}

/** Watches every tool call. Returning undefined means allow. */
export interface Guardrail {
  readonly name: string;
  /** Called at the start of each turn, to reset what it has counted. */
  onTurnStart?(): MaybePromise<void>;
  /**
   * Called before a call, after the extensions' `tool_call`. If it throws, the call is blocked: a broken guardrail must not let
   * calls through.
   */
  beforeCall?(call: ToolCall): MaybePromise<GuardrailDecision | undefined | void>;
  /** Called with the result, after the extensions' `tool_result`. If it throws, the result is not changed. */
  afterCall?(call: ToolCall, result: GuardedResult): MaybePromise<GuardrailDecision | undefined | void>;
}

/** A guardrail, or a function that creates one. With a function each child gets its own guardrail, with its own counts. */
export type GuardrailSource = Guardrail | (() => Guardrail);
