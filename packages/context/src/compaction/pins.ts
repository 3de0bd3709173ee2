import type { ChatMessage, UserMessage } from "@ravi/kernel";
import { frontOf, markValid } from "./prompt.ts";
import { isSummary } from "./summary.ts";

/**
 * The messages that outlive the window they stand in, by their places in the list: the first user message (what all of
 * it is about), the newest summary (what was left out), and the newest user message (what is being worked on). Without
 * the last one an agent that has been calling tools for a hundred turns would no longer know why.
 */
export interface Pins {
  readonly front: number;
  readonly first: number | undefined;
  readonly summary: number | undefined;
  readonly newest: number | undefined;
}

export function pinsOf(prompt: readonly ChatMessage[]): Pins {
  const front = frontOf(prompt);
  let newest: number | undefined;
  let summary: number | undefined;
  for (let at = prompt.length - 1; at >= front && (newest === undefined || summary === undefined); at--) {
    const message = prompt[at];
    if (message?.role !== "user") continue;
    if (isSummary(message)) summary ??= at;
    else newest ??= at;
  }
  let first: number | undefined;
  for (let at = front, end = newest ?? -1; at <= end && first === undefined; at++) {
    const message = prompt[at];
    if (message?.role === "user" && !isSummary(message)) first = at;
  }
  return { front, first, summary, newest };
}

/** The pinned places in order, without repeats. `first` and `summary` are left out where they have to go. */
export function pinned(pins: Pins, without: { first?: boolean; summary?: boolean } = {}): number[] {
  const places = new Set<number>();
  if (pins.first !== undefined && without.first !== true) places.add(pins.first);
  if (pins.summary !== undefined && without.summary !== true) places.add(pins.summary);
  if (pins.newest !== undefined) places.add(pins.newest);
  return [...places].toSorted((a, b) => a - b);
}

/**
 * The system messages, the pinned ones that lie before `start`, and all from `start` on. Where nothing pinned comes
 * before it, the window begins with a user message, since not every provider takes one that begins in mid-work.
 */
export function windowFrom(
  prompt: readonly ChatMessage[],
  front: number,
  places: readonly number[],
  start: number,
): readonly ChatMessage[] {
  const kept = prompt.slice(0, front);
  for (const at of places) {
    const message = prompt[at];
    if (at < start && message !== undefined) kept.push(message);
  }
  const from = kept.length > front ? start : firstUserFrom(prompt, start);
  for (let at = from; at < prompt.length; at++) {
    const message = prompt[at];
    if (message !== undefined) kept.push(message);
  }
  return kept;
}

function firstUserFrom(prompt: readonly ChatMessage[], start: number): number {
  for (let at = start; at < prompt.length; at++) if (prompt[at]?.role === "user") return at;
  return start;
}

/** The list with its first `covered` messages replaced by a summary and by what is pinned among them. */
export function viewWith(
  prompt: readonly ChatMessage[],
  covered: number,
  summary: UserMessage,
): readonly ChatMessage[] {
  const { front, first, newest } = pinsOf(prompt);
  const view = prompt.slice(0, front);
  const add = (at: number | undefined): void => {
    const message = at === undefined || at >= covered ? undefined : prompt[at];
    if (message !== undefined) view.push(message);
  };
  add(first);
  view.push(summary);
  if (newest !== first) add(newest);
  return markValid(view.concat(prompt.slice(Math.max(covered, front))));
}
