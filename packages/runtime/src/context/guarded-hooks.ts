import {
  type HookEvent,
  type HookPayloads,
  type Hooks,
  type Logger,
  type MaybePromise,
  NO_HOOKS,
} from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";
import { orLog } from "../or-log.ts";

const FAILED = "hooks failed; the run goes on without them";

/**
 * Hooks promise that they never throw. Those that take what is theirs (`dispatchOwn`) keep to it; of any others what they throw, or
 * reject with, is told to the log: an observer changes no run.
 */
export function guardedHooks(hooks: Hooks, logger: Logger | undefined): Hooks {
  if (hooks === NO_HOOKS || hooks.dispatchOwn !== undefined) return hooks;
  return new GuardedHooks(hooks, logger);
}

class GuardedHooks implements Hooks {
  private readonly hooks: Hooks;
  private readonly logger: Logger | undefined;

  constructor(hooks: Hooks, logger: Logger | undefined) {
    this.hooks = hooks;
    this.logger = logger;
  }

  has(event: HookEvent): boolean {
    try {
      return this.hooks.has(event);
    } catch (error) {
      tellLog(this.logger, "error", FAILED, { error: messageOf(error) });
      return false;
    }
  }

  dispatch<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void> {
    return orLog(this.logger, "error", FAILED, () => this.hooks.dispatch(event, payload));
  }

  drain(): MaybePromise<void> {
    return orLog(this.logger, "error", FAILED, () => this.hooks.drain?.());
  }
}
