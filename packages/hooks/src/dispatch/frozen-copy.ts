import { type HookEvent, InvalidValueError } from "@ravi/kernel";

const MAX_DEPTH = 64;

type Fields = Record<PropertyKey, unknown>;
type Spread = (value: object) => Fields;

/**
 * A deeply frozen copy of an event's plain payload; the original is not changed. Nothing in the copy leads back to the run: functions are
 * left out, getters are read once, and a class instance becomes a plain object with its fields. Throws if the payload is nested more than
 * 64 deep or has a cycle.
 */
export function frozenCopy(event: HookEvent, payload: unknown): unknown {
  const spread: Partial<typeof SPREAD>[HookEvent] = SPREAD[event];
  // The event may be one of a newer kernel.
  return copy(payload, MAX_DEPTH, spread ?? spreadNested);
}

function copy(value: unknown, depthLeft: number, spread: Spread): unknown {
  if (typeof value === "function") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (depthLeft === 0) {
    throw new InvalidValueError({
      field: "payload",
      value,
      expected: `plain data without cycles, nested at most ${MAX_DEPTH} levels deep`,
    });
  }
  if (Array.isArray(value))
    return Object.freeze(Array.from(value, (item) => copy(item, depthLeft - 1, spreadNested)));
  // Spread first, then replace nested values: twice as fast as building the copy key by key.
  const fields = spread(value);
  for (const symbol of Object.getOwnPropertySymbols(fields)) Reflect.deleteProperty(fields, symbol);
  for (const key in fields) {
    const inner = fields[key];
    if ((typeof inner !== "object" || inner === null) && typeof inner !== "function") continue;
    // Skip what somebody has put on Object.prototype.
    if (Object.hasOwn(fields, key)) fields[key] = copy(inner, depthLeft - 1, spreadNested);
  }
  return Object.freeze(fields);
}

const spreadNested: Spread = (value) => ({ ...value });

/**
 * One spread per event, because the engine learns object shapes per place in the code: 20 ns a payload, compared with 160 ns if a
 * single place sees the shapes of all events.
 */
const SPREAD: Readonly<Record<HookEvent, Spread>> = {
  run_start: (payload) => ({ ...payload }),
  run_end: (payload) => ({ ...payload }),
  step_start: (payload) => ({ ...payload }),
  step_end: (payload) => ({ ...payload }),
  llm_start: (payload) => ({ ...payload }),
  llm_end: (payload) => ({ ...payload }),
  tool_start: (payload) => ({ ...payload }),
  tool_end: (payload) => ({ ...payload }),
  guardrail_trip: (payload) => ({ ...payload }),
  handoff: (payload) => ({ ...payload }),
  flow_start: (payload) => ({ ...payload }),
  flow_end: (payload) => ({ ...payload }),
  budget_warning: (payload) => ({ ...payload }),
  preempted: (payload) => ({ ...payload }),
  resumed: (payload) => ({ ...payload }),
  retry: (payload) => ({ ...payload }),
  compaction: (payload) => ({ ...payload }),
  approval_requested: (payload) => ({ ...payload }),
};
