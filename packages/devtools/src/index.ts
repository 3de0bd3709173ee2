/**
 * A local page on runs: who works for whom, what each has spent, what a run waits for, and buttons to answer it.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */
export { openPage, type OpenPage, type PageOptions } from "./open-page.ts";
export type { WatchedRuns } from "./watched-runs.ts";
