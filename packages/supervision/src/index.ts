/**
 * `SpawnTracker` enforces the headcount of a tree of agents; `RetryPolicy` decides when a crashed execution is restarted.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { type RestoreOptions, SpawnTracker, type SpawnTrackerOptions } from "./headcount/spawn-tracker.ts";
export { RetryPolicy, type RetryPolicyOptions } from "./retry-policy.ts";
