import { type BudgetExhaustedError, isRaviError, type InvalidValueError } from "@ravi/kernel";

/** The refusal that an attempt must end in. */
export function exhaustion(attempt: () => unknown): BudgetExhaustedError {
  try {
    attempt();
  } catch (error) {
    if (isRaviError(error, "BUDGET_EXHAUSTED")) return error;
    throw error;
  }
  throw new Error("it was admitted");
}

/** The complaint about a wrong value that an attempt must end in. */
export function complaint(attempt: () => unknown): InvalidValueError {
  try {
    attempt();
  } catch (error) {
    if (isRaviError(error, "INVALID_VALUE")) return error;
    throw error;
  }
  throw new Error("it was accepted");
}
