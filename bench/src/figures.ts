// The figures in docs/performance.md: which field of a scenario's output, and its title in a table.

export interface Figure {
  readonly scenario: string;
  /** The field in the scenario's output. */
  readonly field: string;
  readonly title: string;
  /** Whether it is shown as a ratio to the hand-written loop. */
  readonly isRatio: boolean;
}

export const FIGURES: readonly Figure[] = [
  { scenario: "S1", field: "us", title: "S1 one run, no tool, µs", isRatio: true },
  { scenario: "S2", field: "us", title: "S2 50 turns of one tool, µs/turn", isRatio: true },
  { scenario: "S3", field: "us", title: "S3 100 parallel tool calls, µs/call", isRatio: true },
  {
    scenario: "S4",
    field: "wallMs",
    title: "S4 1,000 runs at once × 5 turns × 20 ms, wall ms",
    isRatio: true,
  },
  { scenario: "S4heap", field: "heapKB", title: "S4 live heap per run in flight, kB", isRatio: false },
  { scenario: "S4", field: "p99Ms", title: "S4 event-loop delay p99, ms", isRatio: false },
  { scenario: "S5", field: "us", title: "S5 20,000 deltas by for await, µs/delta", isRatio: true },
  { scenario: "S5callback", field: "us", title: "S5 20,000 deltas by callback, µs/delta", isRatio: true },
  { scenario: "S7", field: "growth", title: "S7 400 turns: the last 50 ÷ the first 50", isRatio: false },
  { scenario: "S8", field: "us", title: "S8 lead with 8 sub-agents × 3 turns, µs/run", isRatio: true },
];

export const SCENARIOS: readonly string[] = [...new Set(FIGURES.map(({ scenario }) => scenario))];

/** Node's arguments to measure one scenario of one subject in a process of its own. */
export function workerArgs(subject: string, scenario: string): readonly string[] {
  return ["--expose-gc", "src/worker.ts", subject, scenario];
}
