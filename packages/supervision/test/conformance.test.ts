import { describeHeadcount } from "@ravi/testing/suites";
import { SpawnTracker } from "@ravi/supervision";

describeHeadcount(
  "SpawnTracker",
  ({ budget, rootId, clock }) => new SpawnTracker(budget, { rootId, clock }),
  {
    restore: (snapshot, { clock }) => SpawnTracker.restore(snapshot, { clock }),
  },
);
