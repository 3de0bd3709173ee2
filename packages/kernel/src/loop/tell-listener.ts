import type { RunEvent } from "../agent/events.ts";
import { isPromiseLike } from "../core/types.ts";
import { messageOf } from "../errors/message-of.ts";
import { tellLog } from "../core/tell-log.ts";
import type { Logger } from "../ports/services.ts";

/** An observer that is called with each event of a run. */
export type EventListener = (event: RunEvent) => void;

/** Calls the `onEvent` of a run. If it throws, that is only logged: observers cannot affect a run. */
export function tellListener(listener: EventListener, event: RunEvent, logger: Logger | undefined): void {
  try {
    // It may be an async function, whose rejection would go unhandled otherwise.
    const returned: unknown = listener(event);
    if (isPromiseLike(returned))
      returned.then(undefined, (error: unknown) => logFailure(event, error, logger));
  } catch (error) {
    logFailure(event, error, logger);
  }
}

function logFailure({ execId, event }: RunEvent, error: unknown, logger: Logger | undefined): void {
  const fields = { execId, error: messageOf(error), type: event.type };
  tellLog(logger, "error", "onEvent threw an error; the run continues", fields);
}
