import { padText, textWidth } from "@ravi/kernel/loop";

/** A longer cell makes its own line longer, not all of them. */
const MOST_PADDING = 40;

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    rows.reduce((width, row) => Math.max(width, Math.min(textWidth(row[at] ?? ""), MOST_PADDING)), 0),
  );
  return rows
    .map((row) =>
      row
        .map((cell, at) => padText(cell, widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
