import type { ToolCall } from "@ravi/kernel";
import { strictest, type Verdict } from "../guardrails/chain.ts";
import type { TurnDeps } from "./deps.ts";

/** What was decided before any call is made. */
export interface CallDecisions {
  /** By call id, why the call is not made. */
  readonly refusals: ReadonlyMap<string, string>;
  readonly warnings: ReadonlyMap<string, string>;
  readonly halt: Verdict | undefined;
}

/** Refuses nothing. For an answer that was cut off: its calls are not made anyway, so nobody is asked. */
export const ALLOW_ALL: CallDecisions = { refusals: new Map(), warnings: new Map(), halt: undefined };

/** Asks extensions, then guardrails, about each call, in the order asked. A halt refuses all of them. */
export async function decideCalls(calls: readonly ToolCall[], deps: TurnDeps): Promise<CallDecisions> {
  const { ctx, emit, guard } = deps;
  const { allowed } = deps.settings;
  const refusals = new Map<string, string>();
  const warnings = new Map<string, string>();
  let halt: Verdict | undefined;
  for (const call of calls) {
    if (allowed !== undefined && !allowed.has(call.name)) {
      const names = [...allowed].join(", ") || "none";
      refusals.set(
        call.id,
        `${call.name} is not allowed here; of the listed tools, these are allowed: ${names}`,
      );
      continue;
    }
    const { block, reason } = await emit("tool_call", { call });
    if (block === true) {
      refusals.set(call.id, `blocked: ${reason ?? "an extension blocked it without a reason"}`);
      continue;
    }
    const verdict = strictest(await guard.before(call, ctx.signal));
    if (verdict?.action === "halt") halt ??= verdict;
    else if (verdict?.action === "block") refusals.set(call.id, verdict.reason);
    else if (verdict !== undefined) warnings.set(call.id, verdict.reason);
  }
  if (halt !== undefined) {
    for (const { id } of calls)
      refusals.set(id, `the call was not made, because ${halt.by} halted the turn: ${halt.reason}`);
  }
  return { refusals, warnings, halt };
}
