/** How important a branch of work is. The numbers are weights: CRITICAL gets four times the share of NORMAL. */
export const Priority = Object.freeze({ BACKGROUND: 0, LOW: 1, NORMAL: 2, HIGH: 4, CRITICAL: 8 } as const);
export type Priority = (typeof Priority)[keyof typeof Priority];

/** How long an agent's history outlives its run. */
export const HistoryRetention = Object.freeze({ NONE: "none", RUN: "run", PERMANENT: "permanent" } as const);
export type HistoryRetention = (typeof HistoryRetention)[keyof typeof HistoryRetention];
