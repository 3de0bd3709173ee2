import { checkBoolean, checkSignal, InvalidValueError } from "@ravi/kernel";
import { checkPort, checkPorts, hasMethod, isAgent } from "@ravi/kernel/loop";
import { retry as retryLayer } from "@ravi/middleware";
import { checkLayers } from "../../agents/layers.ts";
import { hasModule } from "../../node/node-module.ts";
import type { HostOptions } from "../options.ts";

/**
 * Checks at run time what a TypeScript compiler would have caught, for users without one. A mistake must show here and not in
 * the middle of a run that costs money.
 */
export function checkHost(options: HostOptions): void {
  const { journal, hooks, history, compaction, onEvent, handleSignals, middleware, prices, retry, restart } =
    options;
  if (
    journal === "" ||
    (journal !== undefined && typeof journal !== "string" && !hasMethod(journal, "append"))
  )
    wrong("journal", journal, "the path of a directory, or a Journal");
  // The runtime does not see these hooks, only those that record calls in front of them.
  if (hooks !== undefined && !(hasMethod(hooks, "has") && hasMethod(hooks, "dispatch")))
    wrong("hooks", hooks, "Hooks with the methods has and dispatch, such as a HookManager of @ravi/hooks");
  if (history !== undefined && !hasMethod(history, "load"))
    wrong("history", history, "a HistoryProvider, such as a FileHistory of @ravi/context");
  if (compaction !== undefined && !hasMethod(compaction, "compact"))
    wrong("compaction", compaction, "a CompactionStrategy, such as a SlidingWindow of @ravi/context");
  if (prices !== undefined && (typeof prices !== "object" || prices === null))
    wrong(
      "prices",
      prices,
      'prices such as { "provider:model": { input: 0.5, output: 1.5 } }, or a PriceBook',
    );
  if (typeof prices?.price === "function") checkPort("prices", prices, ["price", "worstPrice"]);
  if (onEvent !== undefined && typeof onEvent !== "function")
    wrong("onEvent", onEvent, "a function that takes an event");
  if (handleSignals !== undefined) checkBoolean("handleSignals", handleSignals);
  if (handleSignals === true && !hasModule("node:process")) {
    const expected = "false here, where there is no process that a signal could reach";
    throw new InvalidValueError({ field: "handleSignals", value: true, expected });
  }
  // A runtime checks these too, but `estimate` has none, and a conversation has one only when something is said.
  const { limiter, permissions, telemetry, auditLog, validator, signal, logger, clock, ids } = options;
  checkPorts("options", { limiter, permissions, telemetry, auditLog, validator, logger, clock, ids });
  checkSignal("signal", signal);
  if (middleware !== undefined) checkLayers("middleware", middleware);
  if (retry !== undefined && retry !== false) {
    if (typeof retry !== "object" || retry === null)
      wrong("retry", retry, "options such as { maxRetries: 3 }, or false");
    // The layer checks its own options. It is built here so that `estimate` reports the same errors as `run`.
    retryLayer(retry);
  }
  if (restart !== undefined && restart !== false) {
    if (!hasMethod(restart, "shouldRetry"))
      wrong("restart", restart, "a RestartPolicy, such as a RetryPolicy of @ravi/supervision, or false");
    if (journal === undefined)
      wrong("restart", restart, "a run with a journal, from which an agent is restarted");
  }
}

export function checkAgent(field: string, agent: unknown): void {
  if (isAgent(agent)) return;
  const expected =
    "an agent: the result of agent({ … }) or team({ … }), or an object with an id and a method run(ctx, inbox)";
  wrong(field, agent, expected);
}

/** An empty or missing id would be replaced by a new one, which then is not found. */
export function checkRunId(runId: unknown): void {
  if (typeof runId !== "string" || runId === "")
    wrong("runId", runId, "the id of a recorded run; runs({ journal }) lists them");
}

function wrong(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}
