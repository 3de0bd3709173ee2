import { type AgentResult, classifyError, HookEvent, isRaviError } from "@ravi/kernel";
import { hookBase } from "@ravi/kernel/loop";
import { decideRetry } from "../retry/policy.ts";
import { type Engine, ModelCallFailed } from "./engine.ts";
import type { TurnDeps } from "./deps.ts";

/**
 * Runs the engine until the turn ends, or until its failures are not worth another attempt. Failures in a row are counted
 * from the last model call that succeeded. Throws the error of the last attempt unchanged.
 */
export async function runWithRetries(
  deps: TurnDeps,
  engine: Engine,
  rebuild: () => Promise<void>,
): Promise<AgentResult<never>> {
  const { ctx, settings, emit } = deps;
  let failures = 0;
  let answered = 0;
  let isCompacted = false;
  let attempt = 0;
  /** The call that was tried again has succeeded if the model has answered since, whatever came after that. */
  const endRetry = async (): Promise<void> => {
    if (attempt > 0) await emit("retry_end", { attempt, success: engine.answered > answered });
  };
  for (;;) {
    try {
      const result = await engine.run();
      await endRetry();
      return result;
    } catch (failed) {
      // Checked first: a run that is suspended, cancelled or past its deadline has not failed because of its model.
      await ctx.check();
      await endRetry();
      if (!(failed instanceof ModelCallFailed)) throw failed;
      const error = failed.cause;
      failures = engine.answered > answered ? 1 : failures + 1;
      answered = engine.answered;
      const known = classifyError(error);
      const random = await ctx.random();
      const decision = decideRetry(settings.retry, { error: known, failures, isCompacted, random });
      if (decision.action === "fail") throw error;
      const delayMs = decision.action === "retry" ? decision.delayMs : 0;
      const until = delayMs === 0 ? 0 : (await ctx.now()) + delayMs;
      // A wait beyond the deadline would only delay the error.
      if (ctx.meta.deadline !== null && until > ctx.meta.deadline) throw error;
      attempt = failures;
      const details = { attempt, delayMs, error: deps.errorJSON(error) };
      await emit("retry_start", { ...details, kind: known.kind });
      if (ctx.hooks.has(HookEvent.RETRY))
        void ctx.hooks.dispatch(HookEvent.RETRY, { ...hookBase(ctx), ...details });
      if (decision.action === "retry") {
        if (delayMs > 0) await ctx.sleepUntil(until);
        continue;
      }
      isCompacted = true;
      if (!(await compactAfterOverflow(deps))) {
        await endRetry();
        throw error;
      }
      await rebuild();
    }
  }
}

/**
 * Compacts after an overflow; whether it got shorter. If the compaction itself fails, that is collected, and the overflow is
 * the error that the caller gets.
 */
async function compactAfterOverflow({ ctx, host, compact }: TurnDeps): Promise<boolean> {
  try {
    return (await compact("overflow")).status === "compacted";
  } catch (error) {
    await ctx.check();
    if (isRaviError(error, "SUSPENDED")) throw error;
    host.collect({ source: "compaction", event: "session_before_compact", error });
    return false;
  }
}
