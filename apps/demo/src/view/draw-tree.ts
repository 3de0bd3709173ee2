import { styleText } from "node:util";
import { Priority } from "@ravi/kernel";
import type { Limit } from "../limit.ts";
import type { Board, Row, RowStatus } from "./board.ts";
import { inOneLine } from "./printable.ts";

export interface DrawOptions {
  readonly now: number;
  readonly width: number;
  readonly limit: Limit;
  readonly color: boolean;
}

const MARKS: Readonly<Record<RowStatus, { readonly sign: string; readonly color: Color }>> = {
  working: { sign: "●", color: "cyan" },
  paused: { sign: "‖", color: "yellow" },
  completed: { sign: "✓", color: "green" },
  partial: { sign: "◐", color: "yellow" },
  failed: { sign: "✗", color: "red" },
  cancelled: { sign: "✗", color: "gray" },
};
type Color = "cyan" | "yellow" | "green" | "red" | "gray";

const PRIORITIES: Readonly<Record<Priority, string>> = {
  [Priority.BACKGROUND]: "background",
  [Priority.LOW]: "low",
  [Priority.NORMAL]: "normal",
  [Priority.HIGH]: "HIGH",
  [Priority.CRITICAL]: "CRITICAL",
};

const BAR = 10;
const NAME = 24;

/**
 * Draws the current tree: a header and one line for each agent, none wider than the screen. A pure function of the board and the
 * time.
 */
export function drawTree(board: Board, options: DrawOptions): readonly string[] {
  const paint = (color: Color, text: string): string =>
    options.color ? styleText(color, text, { validateStream: false }) : text;
  const head = `${"agent".padEnd(NAME)} ${"priority".padEnd(10)} ${"tokens".padStart(7)} ${"dollars".padStart(8)}  ${"budget".padEnd(BAR + 8)} ${"time".padStart(6)}`;
  const rows = board.inOrder;
  const lines = rows.map((row, at) => {
    const { sign, color } = MARKS[row.status];
    const name = `${branch(row, rows.slice(at + 1))}${row.agentId}`;
    const elapsed = ((row.endedAt ?? options.now) - row.startedAt) / 1000;
    const columns = [
      name.padEnd(NAME - 2),
      PRIORITIES[row.priority].padEnd(10),
      String(row.tokens).padStart(7),
      ("usd" in options.limit ? row.costUsd.toFixed(4) : "-").padStart(8),
      ` ${limitOf(row, board, options.limit).padEnd(BAR + 8)}`,
      `${elapsed.toFixed(1)}s`.padStart(6),
    ].join(" ");
    const room = options.width - (NAME + 10 + 7 + 8 + BAR + 8 + 6 + 8);
    const doing = row.status === "paused" ? "gave its slot to more urgent work" : row.doing;
    const line = `${paint(color, sign)} ${columns.slice(0, Math.max(0, options.width - 2))}`;
    return room < 8 ? line : `${line}  ${paint("gray", inOneLine(doing).slice(0, room))}`;
  });
  return [paint("gray", head.slice(0, options.width)), ...lines];
}

/** The limit of a row: for the root dollars or tokens, shared by the whole tree; for others their own tool calls. */
function limitOf(row: Row, board: Board, limit: Limit): string {
  if (row.depth === 0)
    return "usd" in limit
      ? `${bar(board.costUsd / limit.usd)} $${limit.usd}`
      : `${bar(board.tokens / limit.tokens)} ${Math.round(limit.tokens / 1000)}k`;
  if (row.maxToolCalls === null) return "";
  // A call that was requested beyond the limit was not made.
  const made = Math.min(row.toolCalls, row.maxToolCalls);
  return `${bar(made / row.maxToolCalls)} ${made}/${row.maxToolCalls}`;
}

function bar(part: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * BAR);
  return "█".repeat(full) + "░".repeat(BAR - full);
}

/**
 * The branch lines in front of a row. A vertical line continues past it if a sibling of the row, or of one of its ancestors,
 * follows below.
 */
function branch(row: Row, below: readonly Row[]): string {
  const goesOn = (depth: number): boolean => below.find((later) => later.depth <= depth)?.depth === depth;
  let lines = "";
  for (let depth = 1; depth < row.depth; depth++) lines += goesOn(depth) ? "│  " : "   ";
  if (row.depth > 0) lines += goesOn(row.depth) ? "├─ " : "└─ ";
  return lines;
}
