import type { LLMClient, ModelRequest, ModelResponse } from "@ravi/kernel";
import type { Direct } from "@ravi/kernel/loop";
import { bareAsk, counted } from "./bare.ts";
import { begin, refused } from "./exclusive.ts";
import type { Execution } from "./execution.ts";
import { isModel } from "./leaf-check.ts";
import { callModel } from "./model-call.ts";

/** `llm` for a loop, which awaits the call's own promise and then leaves the lane itself: that saves a promise in each turn. */
export const directLlm: Direct<Execution> = {
  ask(exec, model, request) {
    // `llm` says what is wrong with it.
    if (!isModel(model)) return undefined;
    return exec.tally === undefined ? askByTheRules(exec, model, request) : bareAsk(exec, model, request);
  },
  answered(exec, model, response) {
    const { tally, lane } = exec;
    lane.leave();
    return tally === undefined ? response : counted(tally, model, response, false);
  },
  failed: refused,
};

function askByTheRules(exec: Execution, model: LLMClient, request: ModelRequest): Promise<ModelResponse> {
  const leaf = { kind: "llm", model, request, wrapUp: undefined } as const;
  // An answer that is there at once, from a layer, is awaited too: until then the lane is busy, as in a replay.
  return Promise.resolve(begin(exec, exec.nextKey("llm", model.id), callModel, leaf));
}
