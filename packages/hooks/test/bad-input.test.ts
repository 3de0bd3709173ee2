import { expect, test } from "vitest";
import { CostTracker, EventRecorder, HookManager, RunLogger } from "@ravi/hooks";

/** As somebody without a compiler would write it. */
const odd = (value: unknown): never => value as never;

test.each<[string, () => unknown]>([
  ["HookManager options.onError", () => new HookManager({ onError: odd("log") })],
  ["HookManager options.logger", () => new HookManager({ logger: odd({}) })],
  ["HookManager options.clock", () => new HookManager({ clock: odd({}) })],
  ["HookManager options", () => new HookManager(odd(Promise.resolve({})))],
  ["event", () => new HookManager().unregister(odd("run_ended"), () => {})],
  ["event", () => new HookManager().clear(odd("run_ended"))],
  ["CostTracker options.onReport", () => new CostTracker({ onReport: odd({}) })],
  ["CostTracker options.meter", () => new CostTracker({ meter: odd({}) })],
  ["CostTracker options.logger", () => new CostTracker({ logger: odd(true) })],
  ["CostTracker options.clock", () => new CostTracker({ clock: odd({}) })],
  ["EventRecorder options.onEvent", () => new EventRecorder({ onEvent: odd(1) })],
  ["EventRecorder options.clock", () => new EventRecorder({ clock: odd({}) })],
  ["RunLogger options.logger", () => new RunLogger({ logger: odd({}) })],
  ["hooks", () => new CostTracker().attachTo(odd({}))],
  ["hooks", () => new RunLogger().attachTo(odd(undefined))],
])("R20: whoever cannot be told is refused when it is given: %s", (field, attempt) => {
  expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});
