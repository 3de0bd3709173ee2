import {
  type ChatMessage,
  checkBoolean,
  checkFields,
  checkInteger,
  type CompactionStrategy,
  InvalidValueError,
} from "@ravi/kernel";
import { pinned, pinsOf, windowFrom } from "./summary/pins.ts";
import { lastGroupStart, markValid, validPrompt } from "./prompt.ts";

export interface SlidingWindowOptions {
  /** How many messages are kept, not counting system messages at the start. Default: 100. */
  readonly messages?: number | undefined;
  /**
   * How many messages the window moves at a time. A larger step keeps the provider's prompt cache valid for longer. Default: 1.
   */
  readonly step?: number | undefined;
  /** Whether the first user message is kept as well. Default: true. */
  readonly keepFirst?: boolean | undefined;
}

/**
 * Keeps the newest messages, and the first and the newest user message. The newest group is kept whole even if it alone is larger
 * than the window. Only then the limit is exceeded, and the first user message is dropped.
 */
export class SlidingWindow implements CompactionStrategy {
  readonly name = "SlidingWindow";
  readonly messages: number;
  readonly step: number;
  readonly keepFirst: boolean;

  constructor(options: SlidingWindowOptions = {}) {
    checkFields("SlidingWindow", options, ["messages", "step", "keepFirst"]);
    this.messages = checkInteger("SlidingWindow.messages", options.messages ?? 100, 1);
    this.step = checkInteger("SlidingWindow.step", options.step ?? 1, 1);
    if (this.step > this.messages) {
      const expected = `at most the value of messages (${this.messages})`;
      throw new InvalidValueError({ field: "SlidingWindow.step", value: this.step, expected });
    }
    this.keepFirst = checkBoolean("SlidingWindow.keepFirst", options.keepFirst ?? true);
  }

  compact(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    const prompt = validPrompt(messages);
    const pins = pinsOf(prompt);
    if (prompt.length - pins.front <= this.messages) return prompt;
    const last = lastGroupStart(prompt);
    let places = pinned(pins, { first: !this.keepFirst });
    let start = this.startOf(prompt, pins.front, places, last);
    if (prompt.length - start + before(places, start) > this.messages) {
      places = pinned(pins, { first: true, summary: true });
      start = this.startOf(prompt, pins.front, places, last);
    }
    return markValid(windowFrom(prompt, pins.front, places, start));
  }

  /** The start of the earliest group from which on everything fits; at the latest the last group. */
  private startOf(
    prompt: readonly ChatMessage[],
    front: number,
    places: readonly number[],
    last: number,
  ): number {
    const least = prompt.length - this.messages - front;
    let start = front + Math.ceil(least / this.step) * this.step;
    while (start < last) {
      const fits = prompt.length - start + before(places, start) <= this.messages;
      if (fits && prompt[start]?.role !== "tool") return start;
      start++;
    }
    return last;
  }
}

function before(places: readonly number[], start: number): number {
  return places.filter((place) => place < start).length;
}
