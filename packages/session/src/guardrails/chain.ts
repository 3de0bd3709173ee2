import type { AbortSignalLike, MaybePromise, ToolCall } from "@ravi/kernel";
import { type LoopDetector, type LoopLimitsOptions, loopDetector, type LoopStep } from "@ravi/kernel/loop";
import { abortable } from "../extensions/abortable.ts";
import type { ExtensionHost } from "../extensions/host.ts";
import type { GuardedResult, Guardrail, GuardrailDecision } from "./guardrail.ts";
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
      await this.ask(guardrail, "onTurnStart", () => guardrail.onTurnStart?.(), signal);
    }
  }

  async before(call: ToolCall, signal: AbortSignalLike): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    const loop = this.detector?.before(call);
    if (loop !== undefined) push(verdicts, LOOP_DETECTION, loop);
    for (const { guardrail } of this.guardrails) {
      if (guardrail.beforeCall === undefined) continue;
      const decision = await this.ask(guardrail, "beforeCall", () => guardrail.beforeCall?.(call), signal);
      const broken = {
        action: "block",
        reason: `the guardrail ${guardrail.name} failed, so the call was not made`,
      } as const;
      push(verdicts, guardrail.name, decision === FAILED ? broken : decision);
    }
    return verdicts;
  }

  /** For each call of a batch, in their order: a model learns from all of them at once. */
  afterBatch(steps: readonly LoopStep[]): readonly (Verdict | undefined)[] {
    const verdicts = this.detector?.after(steps) ?? [];
    return steps.map((_, at) => {
      const verdict = verdicts[at];
      return verdict === undefined || verdict.action === "allow"
        ? undefined
        : { by: LOOP_DETECTION, ...verdict };
    });
  }

  async after(call: ToolCall, result: GuardedResult, signal: AbortSignalLike): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    for (const { guardrail } of this.guardrails) {
      if (guardrail.afterCall === undefined) continue;
      const decision = await this.ask(
        guardrail,
        "afterCall",
        () => guardrail.afterCall?.(call, result),
        signal,
      );
      if (decision !== FAILED) push(verdicts, guardrail.name, decision);
    }
    return verdicts;
  }

  private async ask<T>(
    { name: source }: Guardrail,
    event: string,
    question: () => MaybePromise<T>,
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

function push(verdicts: Verdict[], by: string, decision: GuardrailDecision | undefined | void): void {
  if (decision === undefined || decision.action === "allow") return;
  verdicts.push({ by, action: decision.action, reason: decision.reason });
}

/** The verdict that counts, if there is any. */
export function strictest(verdicts: readonly Verdict[]): Verdict | undefined {
  return (
    verdicts.find(({ action }) => action === "halt") ??
    verdicts.find(({ action }) => action === "block") ??
    verdicts[0]
  );
}
