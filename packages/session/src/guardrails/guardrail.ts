import type { ContentPart, MaybePromise, ToolCall } from "@ravi/kernel";

/**
 * `warn` tells the model, `block` refuses the call (after it: makes an error of its result), `halt` ends the turn. The
 * reason is written for the model.
 */
export type GuardrailDecision =
  | { readonly action: "allow" }
  | { readonly action: "warn" | "block" | "halt"; readonly reason: string };

export interface GuardedResult {
  readonly content: string | readonly ContentPart[];
  readonly isError: boolean;
}

/** Watches every tool call. Undefined means allow. */
export interface Guardrail {
  readonly name: string;
  /** Forgets what it counted. */
  onTurnStart?(): MaybePromise<void>;
  /** After the extensions' `tool_call`. One that fails here blocks the call: a broken guard does not open the gate. */
  beforeCall?(call: ToolCall): MaybePromise<GuardrailDecision | undefined | void>;
  /** After the extensions' `tool_result`. */
  afterCall?(call: ToolCall, result: GuardedResult): MaybePromise<GuardrailDecision | undefined | void>;
}

/** A guardrail, or how to make one: then each child has its own, that counts by itself. */
export type GuardrailSource = Guardrail | (() => Guardrail);
