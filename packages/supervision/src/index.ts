// Enforces a tree's headcount and says when a crashed execution is started again. This list is the public surface; a test
// pins it.

export { type RestoreOptions, SpawnTracker, type SpawnTrackerOptions } from "./headcount/spawn-tracker.ts";
export { RetryPolicy, type RetryPolicyOptions } from "./retry-policy.ts";
