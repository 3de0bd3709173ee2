import {
  checkOneOf,
  executionBudget,
  type HireLeaf,
  HistoryRetention,
  InvalidValueError,
  Priority,
} from "@ravi/kernel";
import { checkDelegateChoices } from "@ravi/kernel/loop";
import type { SubAgentConfig } from "../options.ts";

/** Without a limit, a sub-agent that hangs would keep the orchestrator waiting for ever. */
const DEFAULT_ASK_TIMEOUT_S = 120;

/** The terms of a hire, checked in the constructor and not in the middle of a paid run. */
export type Terms = Omit<HireLeaf, "kind" | "agent" | "input" | "attachments">;

/** Checks the terms of a hire and adds the defaults. */
export function termsOf(
  field: string,
  config: Omit<SubAgentConfig, "agent" | "name" | "description">,
): Terms {
  const { askTimeoutS = DEFAULT_ASK_TIMEOUT_S, priority, retention, executionBudget: budget } = config;
  if (askTimeoutS !== null && !(Number.isFinite(askTimeoutS) && askTimeoutS > 0)) {
    const expected = "a number of seconds greater than 0, or null for no limit";
    throw new InvalidValueError({ field: `${field}.askTimeoutS`, value: askTimeoutS, expected });
  }
  const { onTimeout, onPreempt, onFull } = config;
  checkDelegateChoices(field, config);
  return Object.freeze({
    ...(askTimeoutS !== null && { timeoutS: askTimeoutS }),
    ...(priority !== undefined && { priority: checkOneOf(`${field}.priority`, priority, Priority) }),
    ...(retention !== undefined && {
      retention: checkOneOf(`${field}.retention`, retention, HistoryRetention),
    }),
    ...(budget !== undefined && { executionBudget: executionBudget(budget) }),
    ...(onTimeout !== undefined && { onTimeout }),
    ...(onPreempt !== undefined && { onPreempt }),
    ...(onFull !== undefined && { onFull }),
  });
}
