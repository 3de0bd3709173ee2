import { type AbortSignalLike, InvalidValueError, type ToolCall } from "@ravi/kernel";
import { type LoopDetector, type LoopLimitsOptions, loopDetector, type LoopStep } from "@ravi/kernel/loop";
import { abortable } from "../extensions/abortable.ts";
import type { ExtensionHost } from "../extensions/host.ts";
import type { GuardedResult, Guardrail } from "./guardrail.ts";
import type { OwnedGuardrail } from "./load.ts";

export const LOOP_DETECTION = "loop-detection";

/** A decision that is not to allow, and whose it is. */
export interface Verdict {
  readonly by: string;
  readonly action: "warn" | "block" | "halt";
  readonly reason: string;
}

/** Asks all guardrails about every call, the built-in loop detection first. The strictest word counts. */
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

  async turnStart(signal: AbortSignalLike): Promise<void> {
    this.detector = this.limits === false ? undefined : loopDetector(this.limits);
    for (const { guardrail, isOwn } of this.guardrails) {
      if (!isOwn) continue;
      await this.ask(guardrail, "onTurnStart", async () => guardrail.onTurnStart?.(), signal);
    }
  }

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

  /** For each call of a batch, in their order: a model learns from all of them at once. */
  afterBatch(steps: readonly LoopStep[]): readonly (Verdict | undefined)[] {
    const verdicts = this.detector?.after(steps) ?? [];
    return steps.map((_, at) => verdictOf(LOOP_DETECTION, verdicts[at]));
  }

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

/** What a decision means; one that is none of those there are is an error, and not a permission. */
function verdictOf(by: string, decision: unknown): Verdict | undefined {
  if (decision === undefined) return undefined;
  const { action, reason } = (decision ?? {}) as { readonly action?: unknown; readonly reason?: unknown };
  if (action === "allow") return undefined;
  if ((action === "warn" || action === "block" || action === "halt") && typeof reason === "string")
    return { by, action, reason };
  const expected = '{ action: "allow" }, or { action: "warn", "block" or "halt", reason }';
  throw new InvalidValueError({ field: `guardrail ${by}: decision`, value: decision, expected });
}

/** The verdict that counts, if there is any. */
export function strictest(verdicts: readonly Verdict[]): Verdict | undefined {
  return (
    verdicts.find(({ action }) => action === "halt") ??
    verdicts.find(({ action }) => action === "block") ??
    verdicts[0]
  );
}
