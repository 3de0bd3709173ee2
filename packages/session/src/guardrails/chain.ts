import { type AbortSignalLike, InvalidValueError, type ToolCall } from "@ravi/kernel";
import {
  abortable,
  type LoopDetector,
  loopDetector,
  type LoopLimitsOptions,
  type LoopStep,
} from "@ravi/kernel/loop";
import type { ExtensionHost } from "../extensions/host.ts";
import type { GuardedResult, Guardrail } from "./guardrail.ts";
import type { OwnedGuardrail } from "./load.ts";

export const LOOP_DETECTION = "loop-detection";

/** A decision other than allow, and the guardrail that made it. */
export interface Verdict {
  readonly by: string;
  readonly action: "warn" | "block" | "halt";
  readonly reason: string;
}

/** Asks all guardrails about every call, the built-in loop detection first. The strictest decision counts. */
export class GuardrailChain {
  private readonly guardrails: readonly OwnedGuardrail[];
  private readonly host: ExtensionHost;
  private readonly limits: LoopLimitsOptions | false;
  private detector: LoopDetector | undefined;

  constructor(guardrails: readonly OwnedGuardrail[], host: ExtensionHost, limits: LoopLimitsOptions | false) {
    this.guardrails = guardrails;
    this.host = host;
    const isReplaced = guardrails.some(({ guardrail }) => guardrail.name === LOOP_DETECTION);
    this.limits = isReplaced ? false : limits;
  }

  /** Resets the counts of the loop detection, and of guardrails that this session owns. */
  async turnStart(signal: AbortSignalLike): Promise<void> {
    this.detector = this.limits === false ? undefined : loopDetector(this.limits);
    for (const { guardrail, isOwn } of this.guardrails) {
      if (!isOwn) continue;
      await this.ask(guardrail, "onTurnStart", async () => guardrail.onTurnStart?.(), signal);
    }
  }

  /** The verdicts about a call before it is made. A guardrail that fails blocks the call. */
  async before(call: ToolCall, signal: AbortSignalLike): Promise<readonly Verdict[]> {
    const loop = verdictOf(LOOP_DETECTION, this.detector?.before(call));
    const verdicts = loop === undefined ? [] : [loop];
    for (const { guardrail } of this.guardrails) {
      if (guardrail.beforeCall === undefined) continue;
      const verdict = await this.judge(guardrail, "beforeCall", () => guardrail.beforeCall?.(call), signal);
      const reason = `the guardrail ${guardrail.name} failed, so the call was not made`;
      if (verdict === FAILED) verdicts.push({ by: guardrail.name, action: "block", reason });
      else if (verdict !== undefined) verdicts.push(verdict);
    }
    return verdicts;
  }

  /**
   * The verdicts of the loop detection on a whole batch, for each call in order: the model gets all results at once, so it
   * could not have learned from one before making the next.
   */
  afterBatch(steps: readonly LoopStep[]): readonly (Verdict | undefined)[] {
    const verdicts = this.detector?.after(steps) ?? [];
    return steps.map((_, at) => verdictOf(LOOP_DETECTION, verdicts[at]));
  }

  /** The verdicts about a result. A guardrail that fails has no say here. */
  async after(call: ToolCall, result: GuardedResult, signal: AbortSignalLike): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    for (const { guardrail } of this.guardrails) {
      if (guardrail.afterCall === undefined) continue;
      const question = (): unknown => guardrail.afterCall?.(call, result);
      const verdict = await this.judge(guardrail, "afterCall", question, signal);
      if (verdict !== FAILED && verdict !== undefined) verdicts.push(verdict);
    }
    return verdicts;
  }

  private judge(
    guardrail: Guardrail,
    event: string,
    question: () => unknown,
    signal: AbortSignalLike,
  ): Promise<Verdict | undefined | typeof FAILED> {
    return this.ask(guardrail, event, async () => verdictOf(guardrail.name, await question()), signal);
  }

  private async ask<T>(
    { name: source }: Guardrail,
    event: string,
    question: () => Promise<T>,
    signal: AbortSignalLike,
  ): Promise<T | typeof FAILED> {
    try {
      return await abortable(question(), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      this.host.collect({ source, event, error });
      return FAILED;
    }
  }
}

const FAILED = Symbol("failed");

/** Reads a decision. A value that is no valid decision is an error, and not an "allow". */
function verdictOf(by: string, decision: unknown): Verdict | undefined {
  if (decision === undefined) return undefined;
  const { action, reason } = (decision ?? {}) as { readonly action?: unknown; readonly reason?: unknown };
  if (action === "allow") return undefined;
  if ((action === "warn" || action === "block" || action === "halt") && typeof reason === "string")
    return { by, action, reason };
  const expected = '{ action: "allow" }, or { action: "warn" | "block" | "halt", reason: string }';
  throw new InvalidValueError({ field: `guardrail ${by}: decision`, value: decision, expected });
}

/** The verdict that counts: halt before block before warn. Undefined if there is none. */
export function strictest(verdicts: readonly Verdict[]): Verdict | undefined {
  return (
    verdicts.find(({ action }) => action === "halt") ??
    verdicts.find(({ action }) => action === "block") ??
    verdicts[0]
  );
}
