import type { JsonValue } from "../core/json.ts";

type Waiter = (value: JsonValue) => void;

/** What comes from outside, by name. Each value is read once; what comes early is kept until somebody waits for it. */
export class BareSignals {
  private readonly early = new Map<string, JsonValue[]>();
  private readonly waiting = new Map<string, Waiter[]>();

  deliver(name: string, value: JsonValue): void {
    const waiter = this.waiting.get(name)?.shift();
    if (waiter === undefined) listIn(this.early, name).push(value);
    else waiter(value);
  }

  /** `leave` gives up waiting: the next value is for the next who asks. */
  next(name: string): { readonly value: Promise<JsonValue>; readonly leave: () => void } {
    const early = this.early.get(name);
    if (early !== undefined && early.length > 0)
      return { value: Promise.resolve(early.shift() ?? null), leave: () => {} };
    const { promise, resolve } = Promise.withResolvers<JsonValue>();
    const waiters = listIn(this.waiting, name);
    waiters.push(resolve);
    const leave = (): void => {
      const at = waiters.indexOf(resolve);
      if (at !== -1) waiters.splice(at, 1);
    };
    return { value: promise, leave };
  }
}

function listIn<T>(lists: Map<string, T[]>, name: string): T[] {
  let list = lists.get(name);
  if (list === undefined) lists.set(name, (list = []));
  return list;
}
