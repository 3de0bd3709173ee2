import { describeLedger } from "@ravi/testing/suites";
import { ExecutionTracker } from "@ravi/resources";

describeLedger(
  "ExecutionTracker",
  ({ budget, scope }) => new ExecutionTracker(budget, { scope, reserve: false }),
  {
    restore: (snapshot) => ExecutionTracker.restore(snapshot),
    holdingBack: ({ budget, scope }) => new ExecutionTracker(budget, { scope }),
  },
);
