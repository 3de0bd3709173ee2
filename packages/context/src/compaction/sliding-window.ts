import {
  type ChatMessage,
  checkBoolean,
  checkFields,
  checkInteger,
  type CompactionStrategy,
  InvalidValueError,
} from "@ravi/kernel";
import { pinned, pinsOf, windowFrom } from "./pins.ts";
import { lastGroupStart, markValid, validPrompt } from "./prompt.ts";

export interface SlidingWindowOptions {
  /** How many messages stay, system messages at the front not counted: 100. */
  readonly messages?: number | undefined;
  /** The window moves on by this many messages at a time: 1. A larger step keeps the provider's prompt cache warm longer. */
  readonly step?: number | undefined;
  /** Whether the first user message stays as well: true. */
  readonly keepFirst?: boolean | undefined;
}

/**
 * The newest messages, and with them the first and the newest user message. The newest group stays whole even where it
 * alone is larger than the window; then, and only then, the bound does not hold and the first user message goes.
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
      const expected = `at most messages (${this.messages})`;
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

  /** The earliest beginning of a group from which all fits, but not later than the last group. */
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
