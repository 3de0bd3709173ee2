import {
  checkPlainJson,
  errorFromJSON,
  errorToJSON,
  InvalidValueError,
  isPromiseLike,
  type JsonObject,
  type JsonValue,
  type MaybePromise,
  type SerializedError,
} from "@ravi/kernel";
import { isStop } from "@ravi/kernel/loop";
import { isName } from "../journal/entries/entry-check.ts";
import { andThen } from "../promises/and-then.ts";
import type { Execution } from "./execution.ts";

const MAX_NAME_CHARS = 200;

/**
 * Records a fact of the agent (`ctx.record`). If `make` fails, that is recorded too: the agent may have reacted to the error, and a replay
 * has to do the same.
 */
export function recordFact(
  exec: Execution,
  name: string,
  make: () => MaybePromise<JsonValue>,
): MaybePromise<JsonValue> {
  if (!isName(name) || name.length > MAX_NAME_CHARS) {
    const expected = `a name of 1 to ${MAX_NAME_CHARS} characters, none of them a control character`;
    throw new InvalidValueError({ field: "ctx.record name", value: name, expected });
  }
  const key = exec.nextKey("record", name);
  return exec.lane.within(key, () => {
    let thrown: { readonly error: unknown } | undefined;
    const failed = (error: unknown): JsonObject => {
      // An error that stops the run says nothing about the fact.
      if (isStop(error)) throw error;
      thrown = { error };
      return { failure: errorToJSON(error) };
    };
    const made = (value: unknown): JsonObject => ({ value: checkPlainJson(`ctx.record ${name}`, value) });
    const read = (fact: JsonValue): JsonValue => {
      if (thrown !== undefined) throw thrown.error;
      const { value, failure } = fact as { readonly value?: JsonValue; readonly failure?: SerializedError };
      if (failure !== undefined) throw errorFromJSON(failure);
      return value ?? null;
    };
    const fact = exec.engine.fact(key, () => {
      try {
        const value = make();
        return isPromiseLike(value) ? Promise.resolve(value).then(made).then(undefined, failed) : made(value);
      } catch (error) {
        return failed(error);
      }
    });
    return andThen(fact, read);
  });
}
