import type { ChatMessage, UserMessage } from "@ravi/kernel";
import { countLeadingSystem, markValid } from "../prompt.ts";
import { isSummary } from "../summary.ts";

/**
 * The messages that are kept although they are outside of the window, by index: the first user message (what the conversation is
 * about), the newest summary (what was left out), and the newest user message (the current task). Without the last one, an agent
 * that has been calling tools for a hundred turns would no longer know why. `front` is the number of system messages at the
 * start.
 */
export interface Pins {
  readonly front: number;
  readonly first: number | undefined;
  readonly summary: number | undefined;
  readonly newest: number | undefined;
}

/** Finds the pinned messages of a prompt. */
export function pinsOf(prompt: readonly ChatMessage[]): Pins {
  return {
    front: countLeadingSystem(prompt),
    first: indexOrUndefined(prompt.findIndex(isUserMessage)),
    summary: indexOrUndefined(prompt.findLastIndex(isSummary)),
    newest: indexOrUndefined(prompt.findLastIndex(isUserMessage)),
  };
}

function isUserMessage(message: ChatMessage): boolean {
  return message.role === "user" && !isSummary(message);
}

function indexOrUndefined(place: number): number | undefined {
  return place === -1 ? undefined : place;
}

/** The pinned indexes in order, without repeats. `without` leaves out the first user message or the summary. */
export function pinned(pins: Pins, without: { first?: boolean; summary?: boolean } = {}): number[] {
  const places = new Set<number>();
  if (pins.first !== undefined && without.first !== true) places.add(pins.first);
  if (pins.summary !== undefined && without.summary !== true) places.add(pins.summary);
  if (pins.newest !== undefined) places.add(pins.newest);
  return [...places].toSorted((a, b) => a - b);
}

/**
 * The system messages, the pinned messages before `start`, and everything from `start` on. If no pinned message comes before it,
 * the window begins with a user message, because not every provider accepts one that begins in the middle of a turn.
 */
export function windowFrom(
  prompt: readonly ChatMessage[],
  front: number,
  places: readonly number[],
  start: number,
): readonly ChatMessage[] {
  const before = places.flatMap((at) => (at < start ? (prompt[at] ?? []) : []));
  const user = before.length > 0 ? -1 : prompt.findIndex(({ role }, at) => at >= start && role === "user");
  return [...prompt.slice(0, front), ...before, ...prompt.slice(user === -1 ? start : user)];
}

/** The list with its first `covered` messages replaced by a summary and by the pinned messages among them. */
export function withSummary(
  prompt: readonly ChatMessage[],
  covered: number,
  summary: UserMessage,
): readonly ChatMessage[] {
  const { front, first, newest } = pinsOf(prompt);
  const pinnedAt = (at: number | undefined): readonly ChatMessage[] =>
    at === undefined || at >= covered ? [] : prompt.slice(at, at + 1);
  return markValid([
    ...prompt.slice(0, front),
    ...pinnedAt(first),
    summary,
    ...(newest === first ? [] : pinnedAt(newest)),
    ...prompt.slice(Math.max(covered, front)),
  ]);
}
