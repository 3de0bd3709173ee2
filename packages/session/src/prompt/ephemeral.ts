import type { ContentPart, MaybePromise } from "@ravi/kernel";

/** What a source shows: text, or text and images. */
export type LiveState = string | readonly ContentPart[];

/** A view of something that lives: a screen, a browser, a file that is being edited. */
export interface EphemeralSource {
  readonly name: string;
  /** Asked before each model call. What it gives goes with that call alone and is never written; undefined: nothing. */
  look(): MaybePromise<LiveState | undefined>;
}
