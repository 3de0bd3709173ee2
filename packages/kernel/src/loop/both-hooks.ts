import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import { type HookEvent, type HookPayloads, type Hooks, NO_HOOKS } from "../ports/hooks.ts";
import { unguarded } from "./guarded-hooks.ts";

/** Dispatches a payload that was made for this call, and that nobody will change. */
export function tellOwn<E extends HookEvent>(hooks: Hooks, event: E, payload: HookPayloads[E]): void {
  if (hooks.dispatchOwn === undefined) void hooks.dispatch(event, payload);
  else void hooks.dispatchOwn(event, payload);
}

/** Combines the hooks of a tree with an agent's own. If the agent's hooks are already among the tree's, they are called once. */
export function bothHooks(shared: Hooks, own: Hooks | undefined): Hooks {
  if (own === undefined || isAmong(shared, own)) return shared;
  if (shared === NO_HOOKS) return own;
  return new BothHooks(shared, own);
}

/** Whether `registered` is, or contains, the same hooks as `own`, guarded or not. */
export function isAmong(registered: Hooks, own: Hooks): boolean {
  const hooks = unguarded(registered);
  return (
    hooks === unguarded(own) ||
    (hooks instanceof BothHooks && (isAmong(hooks.shared, own) || isAmong(hooks.own, own)))
  );
}

class BothHooks implements Hooks {
  readonly shared: Hooks;
  readonly own: Hooks;
  /** Only if both have it: otherwise one would freeze a payload that the other may keep and write to. */
  readonly dispatchOwn?: NonNullable<Hooks["dispatchOwn"]>;

  constructor(shared: Hooks, own: Hooks) {
    this.shared = shared;
    this.own = own;
    if (shared.dispatchOwn === undefined || own.dispatchOwn === undefined) return;
    // Assigned to a constant first: see docs/decisions/0012.
    const dispatchOwn: NonNullable<Hooks["dispatchOwn"]> = (event, payload) => {
      tellOwn(shared, event, payload);
      tellOwn(own, event, payload);
    };
    this.dispatchOwn = dispatchOwn;
  }

  has(event: HookEvent): boolean {
    return this.shared.has(event) || this.own.has(event);
  }

  /** Dispatches to both, as far as they listen. Listeners are not awaited here; `drain` awaits them at the end. */
  dispatch<E extends HookEvent>(event: E, payload: HookPayloads[E]): void {
    if (this.shared.has(event)) void this.shared.dispatch(event, payload);
    if (this.own.has(event)) void this.own.dispatch(event, payload);
  }

  drain(): MaybePromise<void> {
    const shared = this.shared.drain?.();
    const own = this.own.drain?.();
    if (!isPromiseLike(shared)) return own;
    if (!isPromiseLike(own)) return shared;
    return Promise.all([shared, own]).then(() => {});
  }
}
