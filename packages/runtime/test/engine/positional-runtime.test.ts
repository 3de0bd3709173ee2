import { describeRuntime } from "@ravi/testing/suites";
import { SeatedHeadcount } from "../conformance/seated-headcount.ts";
import { FakeLedger } from "../support/helpers.ts";
import { positionalHouse } from "./positional-house.ts";

// The suite has to fit an engine that records by position, so that Restate's will not be the first to find out.
describeRuntime(
  "on an engine that records by position",
  positionalHouse,
  {
    headcount: (root) => new SeatedHeadcount(root),
    ledger: (root) => new FakeLedger(root.executionBudget),
  },
  // They are the runtime's own and not the engine's: this house starts agents on engines, and nothing around them.
  {
    without: [
      "restart",
      "layers",
      "checks",
      "waits",
      "reasons",
      "record",
      "inspect",
      "onEvent",
      "prune",
      "send",
      "retryFailed",
    ],
  },
);
