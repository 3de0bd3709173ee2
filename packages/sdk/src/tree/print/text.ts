import { totalTokens } from "@ravi/kernel";
import { padText, textWidth } from "@ravi/kernel/loop";
import { count, usd } from "./figures.ts";
import type { TreeNode } from "../run-tree.ts";
import { cutOffWords } from "./stopped-by.ts";

interface Row {
  readonly name: string;
  readonly cells: readonly string[];
}

/** One line for each agent: its name, its status, and what it used itself. */
export function drawText(root: TreeNode): string {
  const rows = rowsOf(root, "", "");
  const widest = (of: (row: Row) => string | undefined): number =>
    rows.reduce((width, row) => Math.max(width, textWidth(of(row) ?? "")), 0);
  const nameWidth = widest(({ name }) => name);
  const widths = rows[0]?.cells.map((_, at) => widest(({ cells }) => cells[at]));
  return rows
    .map(({ name, cells }) =>
      [padText(name, nameWidth), ...cells.map((cell, at) => pad(cell, widths?.[at] ?? 0, at))]
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function rowsOf(node: TreeNode, first: string, rest: string): Row[] {
  const { agentId, status, modelCalls, toolCalls, usage, costUsd, retries, wasteUsd } = node;
  const cutOff = cutOffWords(node);
  const extras = [
    ...(cutOff === undefined ? [] : [cutOff]),
    ...(retries > 0 ? [`${retries} retried`] : []),
    ...(wasteUsd > 0 ? [`${usd(wasteUsd)} wasted`] : []),
  ];
  const row: Row = {
    name: `${first}${agentId}`,
    cells: [
      status,
      count(modelCalls, "model call"),
      count(toolCalls, "tool call"),
      count(totalTokens(usage), "token"),
      usd(costUsd),
      extras.join(", "),
    ],
  };
  const last = node.children.length - 1;
  return [
    row,
    ...node.children.flatMap((child, at) =>
      rowsOf(child, `${rest}${at === last ? "└─ " : "├─ "}`, `${rest}${at === last ? "   " : "│  "}`),
    ),
  ];
}

/** The first and the last cell are words and aligned left; the others are numbers and aligned right. */
function pad(cell: string, width: number, at: number): string {
  return padText(cell, width, at === 0 || at === 5 ? "end" : "start");
}
