import { field, listOf, type Notice, stringOr } from "@ravi/kernel/provider";

/** Tells what a model did not do as asked. The versions word it differently; what it is about comes first. */
export function tellWarnings(notice: Notice, warnings: unknown): void {
  for (const warning of listOf(warnings)) {
    const type = stringOr(field(warning, "type"), "other");
    const about = ["feature", "setting", "message"].map((key) => stringOr(field(warning, key), undefined));
    const tool = stringOr(field(field(warning, "tool"), "name"), undefined);
    const details = stringOr(field(warning, "details"), undefined);
    const text = [...about, tool, details].filter((word) => word !== undefined).join(": ");
    notice(`the model warns (${type}): ${text}`);
  }
}
