import { tellLog } from "../core/tell-log.ts";
import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import { messageOf } from "../errors/message-of.ts";
import { type HookBase, type HookEvent, type HookPayloads, type Hooks, NO_HOOKS } from "../ports/hooks.ts";
import type { Logger } from "../ports/services.ts";

/**
 * Hooks promise never to throw. Those with `dispatchOwn` keep that promise. Others are wrapped: what they throw or reject with is
 * logged, because an observer must not change a run.
 */
export function guardedHooks(hooks: Hooks, logger?: Logger): Hooks {
  if (hooks === NO_HOOKS || hooks.dispatchOwn !== undefined || hooks instanceof GuardedHooks) return hooks;
  return new GuardedHooks(hooks, logger);
}

/** The hooks that were wrapped by `guardedHooks`, or the hooks themselves. */
export function unguarded(hooks: Hooks): Hooks {
  return hooks instanceof GuardedHooks ? hooks.hooks : hooks;
}

class GuardedHooks implements Hooks {
  readonly hooks: Hooks;
  private readonly logger: Logger | undefined;

  constructor(hooks: Hooks, logger: Logger | undefined) {
    this.hooks = hooks;
    this.logger = logger;
  }

  has(event: HookEvent): boolean {
    try {
      return this.hooks.has(event);
    } catch (error) {
      this.logFailure(error);
      return false;
    }
  }

  dispatch<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void> {
    try {
      return this.settled(this.hooks.dispatch(event, payload), payload);
    } catch (error) {
      return this.logFailure(error, payload);
    }
  }

  drain(): MaybePromise<void> {
    try {
      return this.settled(this.hooks.drain?.());
    } catch (error) {
      return this.logFailure(error);
    }
  }

  private settled(dispatched: MaybePromise<void>, payload?: HookBase): MaybePromise<void> {
    if (!isPromiseLike(dispatched)) return undefined;
    return Promise.resolve(dispatched).catch((error: unknown) => this.logFailure(error, payload));
  }

  private logFailure(error: unknown, payload?: HookBase): void {
    const fields = { error: messageOf(error), runId: payload?.runId };
    tellLog(this.logger, "error", "a hook failed; the run is not affected", fields);
  }
}
