// Enforces the headcount of a tree of agents and decides when a crashed execution is restarted. This list is the public surface;
// a test pins it.

export { type RestoreOptions, SpawnTracker, type SpawnTrackerOptions } from "./headcount/spawn-tracker.ts";
export { RetryPolicy, type RetryPolicyOptions } from "./retry-policy.ts";
