import { type Hooks, NO_HOOKS } from "../ports/hooks.ts";

/** What all of a tree listen to, and what one agent brings along. */
export function bothHooks(shared: Hooks, own: Hooks | undefined): Hooks {
  if (own === undefined || own === shared) return shared;
  if (shared === NO_HOOKS) return own;
  return {
    has: (event) => shared.has(event) || own.has(event),
    dispatch: (event, payload) => {
      void shared.dispatch(event, payload);
      void own.dispatch(event, payload);
    },
    async drain() {
      await Promise.all([shared.drain(), own.drain()]);
    },
  };
}
