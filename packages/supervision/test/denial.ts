import { type BudgetExhaustedError, isRaviError } from "@ravi/kernel";

/** The denial that `act` ends in; anything else it ends in is thrown on. */
export function denial(act: () => unknown): BudgetExhaustedError {
  try {
    act();
  } catch (error) {
    if (isRaviError(error, "BUDGET_EXHAUSTED")) return error;
    throw error;
  }
  throw new Error("it was not denied");
}
