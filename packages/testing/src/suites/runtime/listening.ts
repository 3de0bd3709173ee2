import type { HookEvent, HookPayloads, Hooks } from "@ravi/kernel";

export interface HeardHook {
  readonly event: HookEvent;
  readonly payload: HookPayloads[HookEvent];
}

/** Hooks that record the given events. */
export function listening(...events: readonly HookEvent[]): {
  readonly hooks: Hooks;
  readonly heard: readonly HeardHook[];
} {
  const heard: HeardHook[] = [];
  return {
    heard,
    hooks: {
      has: (event) => events.includes(event),
      dispatch: (event, payload) => void (events.includes(event) && heard.push({ event, payload })),
      drain: () => {},
    },
  };
}
