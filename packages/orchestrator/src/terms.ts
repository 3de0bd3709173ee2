import {
  checkOneOf,
  executionBudget,
  type HireLeaf,
  HistoryRetention,
  InvalidValueError,
  Priority,
} from "@ravi/kernel";
import type { SubAgentConfig } from "./options.ts";

/** Without it a helper that hangs would keep its lead waiting for ever. */
const DEFAULT_ASK_TIMEOUT_S = 120;

const TIMEOUTS = { CANCEL: "cancel", LEAVE: "leave" } as const;
const PREEMPTIONS = { PARK: "park", RETURN: "return" } as const;
const FULLS = { DENY: "deny", QUEUE: "queue" } as const;

/** On what terms somebody is hired, checked when the orchestrator is made and not in the middle of a paid run. */
export type Terms = Omit<HireLeaf, "kind" | "agent" | "input">;

export function termsOf(
  field: string,
  config: Omit<SubAgentConfig, "agent" | "name" | "description">,
): Terms {
  const { askTimeoutS = DEFAULT_ASK_TIMEOUT_S, priority, retention, executionBudget: budget } = config;
  if (askTimeoutS !== null && !(Number.isFinite(askTimeoutS) && askTimeoutS > 0)) {
    const expected = "seconds above 0, or null to wait as long as it takes";
    throw new InvalidValueError({ field: `${field}.askTimeoutS`, value: askTimeoutS, expected });
  }
  return Object.freeze({
    ...(askTimeoutS !== null && { timeoutS: askTimeoutS }),
    ...(priority !== undefined && { priority: checkOneOf(`${field}.priority`, priority, Priority) }),
    ...(retention !== undefined && {
      retention: checkOneOf(`${field}.retention`, retention, HistoryRetention),
    }),
    ...(budget !== undefined && { executionBudget: executionBudget(budget) }),
    ...(config.onTimeout !== undefined && {
      onTimeout: checkOneOf(`${field}.onTimeout`, config.onTimeout, TIMEOUTS),
    }),
    ...(config.onPreempt !== undefined && {
      onPreempt: checkOneOf(`${field}.onPreempt`, config.onPreempt, PREEMPTIONS),
    }),
    ...(config.onFull !== undefined && { onFull: checkOneOf(`${field}.onFull`, config.onFull, FULLS) }),
  });
}
