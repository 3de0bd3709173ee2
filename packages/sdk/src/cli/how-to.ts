import type { PendingWait } from "@ravi/sdk";
import { shellWord, visible } from "./printable.ts";
import { isBudget } from "./waits.ts";

/** What to type to answer a wait. `journal` is the folder that was named on the command line. */
export function howToAnswer(
  wait: PendingWait,
  runId: string,
  journal: string | undefined,
): readonly string[] {
  const { kind, name } = wait;
  if (kind === "timer") return [];
  if (kind === "decision") {
    const decisions = `{ ${JSON.stringify(name)}: "retry" }`;
    return [visible(`resume(${JSON.stringify(runId)}, { …, decisions: ${decisions} }), or "skip" or "fail"`)];
  }
  // A word that begins with a dash would be taken for an option.
  const where =
    journal === undefined ? "" : ` --journal${journal.startsWith("-") ? "=" : " "}${shellWord(journal)}`;
  const dashes = [runId, name].some((word) => word.startsWith("-")) ? " --" : "";
  const command = (does: string, option = ""): string =>
    `ravi ${does}${where}${option}${dashes} ${shellWord(runId)} ${shellWord(name)}`;
  if (kind === "signal" || isBudget(wait)) return [`${command("deliver")} '<json>'`];
  return [command("approve"), command("deny", ' --reason "…"')];
}
