import type { Score } from "./compete.ts";

/** The line above the results. */
export const HEAD = row(["strategy", "calls", "tokens in", "tokens out", "cost", "time", "status", "answer"]);

/** The result of one strategy as a line. */
export function lineOf(score: Score): string {
  return row(cells(score));
}

function cells({ strategy, calls, inputTokens, outputTokens, costUsd, ms, status, answer }: Score): string[] {
  const cost = costUsd === null ? "?" : `$${costUsd.toFixed(6)}`;
  const line = answer.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  return [
    strategy,
    String(calls),
    String(inputTokens),
    String(outputTokens),
    cost,
    `${(ms / 1000).toFixed(1)} s`,
    status,
    line.length > 60 ? `${line.slice(0, 59)}…` : line,
  ];
}

function row([
  strategy = "",
  calls = "",
  input = "",
  output = "",
  cost = "",
  time = "",
  status = "",
  answer = "",
]: readonly string[]): string {
  const figures = [
    calls.padStart(6),
    input.padStart(10),
    output.padStart(11),
    cost.padStart(11),
    time.padStart(8),
  ];
  return `${strategy.padEnd(17)}${figures.join(" ")}  ${status.padEnd(10)} ${answer}`.trimEnd();
}
