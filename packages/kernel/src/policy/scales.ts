/** How important an agent's work is. The numbers are weights: CRITICAL gets four times the share of NORMAL. */
export const Priority = Object.freeze({ BACKGROUND: 0, LOW: 1, NORMAL: 2, HIGH: 4, CRITICAL: 8 } as const);
export type Priority = (typeof Priority)[keyof typeof Priority];

/** How long an agent's history is kept: not at all, for the run, or permanently. */
export const HistoryRetention = Object.freeze({ NONE: "none", RUN: "run", PERMANENT: "permanent" } as const);
export type HistoryRetention = (typeof HistoryRetention)[keyof typeof HistoryRetention];
