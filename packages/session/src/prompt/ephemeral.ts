import type { ContentPart, MaybePromise } from "@ravi/kernel";

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
