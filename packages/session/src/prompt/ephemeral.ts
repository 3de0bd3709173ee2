import { type ContentPart, InvalidValueError, type MaybePromise } from "@ravi/kernel";
import { hasMethod } from "@ravi/kernel/loop";

/** What a source shows: text, or text and images. */
export type LiveState = string | readonly ContentPart[];

/** A source of live state, such as a screen, a browser, or a file that is being edited. */
export interface EphemeralSource {
  readonly name: string;
  /**
   * Called before each model call. The result is added to that call only and never stored in the session; undefined adds
   * nothing.
   */
  look(): MaybePromise<LiveState | undefined>;
}

/** Throws an `InvalidValueError` that names the wrong one. */
export function checkEphemeral(field: string, sources: readonly EphemeralSource[]): void {
  if (!Array.isArray(sources)) throw new InvalidValueError({ field, value: sources, expected: "an array" });
  for (const [at, source] of (sources as readonly EphemeralSource[]).entries()) {
    if (hasMethod(source, "look") && typeof source.name === "string") continue;
    const expected = "an object with a name and a method look";
    throw new InvalidValueError({ field: `${field}[${at}]`, value: source, expected });
  }
}
