import { field, listOf, type Notice, stringOr } from "@ravi/kernel/provider";

/** Logs the model's warnings. The versions use different fields; the subject comes first. */
export function logWarnings(notice: Notice, warnings: unknown): void {
  for (const warning of listOf(warnings)) {
    const type = stringOr(field(warning, "type"), "other");
    const about = ["feature", "setting", "message"].map((key) => stringOr(field(warning, key), undefined));
    const tool = stringOr(field(field(warning, "tool"), "name"), undefined);
    const details = stringOr(field(warning, "details"), undefined);
    const text = [...about, tool, details].filter((word) => word !== undefined).join(": ");
    notice(`the model warns (${type}): ${text}`);
  }
}
