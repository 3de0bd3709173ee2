import type { Gate } from "@ravi/kernel";
import type { Execution } from "./execution.ts";
import { nextSignal } from "./waits.ts";

/**
 * What a layer's `admit` may ask for. The answer is a recorded fact of the execution, under the key of the call that it is
 * about: a replay gets it without asking anybody again, and so does whoever asks under the same name.
 */
export function gateFor(exec: Execution, key: string): Gate {
  return {
    async require(name, question) {
      return exec.engine.fact(`gate:${name}@${key}`, () => {
        exec.emit({ type: "progress", name: "approvalRequested", data: { name, question } });
        return nextSignal(exec, name);
      });
    },
  };
}
