import type { Gate, JsonValue } from "@ravi/kernel";
import type { Execution } from "./execution.ts";
import { nextSignal, valueOf } from "./waits.ts";

/**
 * What a layer's `admit` may ask for. The answer is a recorded fact of the execution, under the key of the call that it is
 * about: a replay gets it without asking anybody again, and so does whoever asks for the same call under the same name.
 */
export function gateFor(exec: Execution, key: string): Gate {
  return {
    async require(name, question) {
      const gate = `gate:${name}@${key}`;
      let answer = exec.gates.get(gate);
      if (answer === undefined) exec.gates.set(gate, (answer = ask(exec, gate, name, question)));
      return valueOf(await answer);
    },
  };
}

async function ask(exec: Execution, gate: string, name: string, question: JsonValue): Promise<JsonValue> {
  const wait = (): Promise<JsonValue> => {
    exec.emit({ type: "progress", name: "approvalRequested", data: { name, question } });
    exec.onGateWait?.();
    return nextSignal(exec, name);
  };
  // The calls of a batch wait together, and are answered in any order.
  return exec.engine.fact(gate, wait, { inAnyOrder: true });
}
