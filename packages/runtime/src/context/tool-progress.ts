import { toolProgress } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";

/** Publishes what a tool reports. Nothing after the agent's end: a tool that does not stop in time is left running. */
export function publishProgress(exec: Execution, callId: string, name: unknown, data: unknown): void {
  if (!exec.isOver) exec.publish(toolProgress(callId, name, data));
}
