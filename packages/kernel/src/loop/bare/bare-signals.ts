import type { JsonValue } from "../../core/json.ts";

type Waiter = (value: JsonValue) => void;

/** Signals from outside, by name. Each value is read once; a value that comes early is kept until somebody waits for it. */
export class BareSignals {
  private readonly early = new Map<string, JsonValue[]>();
  private readonly waiting = new Map<string, Waiter[]>();

  deliver(name: string, value: JsonValue): void {
    const waiter = this.waiting.get(name)?.shift();
    if (waiter === undefined) listIn(this.early, name).push(value);
    else waiter(value);
  }

  /** The next value. `leave` stops waiting: the next value then goes to the next waiter. */
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
