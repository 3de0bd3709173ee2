import { printable } from "./printable.ts";

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = (safe[0] ?? []).map((_, at) =>
    safe.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), 0),
  );
  return safe
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
