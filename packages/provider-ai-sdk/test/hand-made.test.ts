import { describeModel } from "@ravi/testing/suites";
import { fromAiSdk } from "../src/index.ts";
import { handMadeModel } from "./hand-made-model.ts";

for (const version of ["v2", "v3", "v4"] as const) {
  describeModel(`fromAiSdk over a model of ${version}`, {
    open: (setup) => ({
      client: fromAiSdk(handMadeModel(version, setup), { idleTimeoutMs: setup.idleTimeoutMs }),
    }),
    // The hand-made model breaks off, but has no body that could be malformed and no place for an error beside its stream.
    without: [
      "errorEvent",
      "malformed",
      ...(version === "v2" ? (["cacheWriteUsage", "refused"] as const) : []),
    ],
  });
}
