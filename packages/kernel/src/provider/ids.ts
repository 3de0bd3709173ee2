import { codeAt } from "../core/code-at.ts";

/** Ids that servers accept. Ids from other providers, or made up by a model, may have any length and characters. */

/**
 * An id of at most `maxLength` characters. The same id always gives the same result, and different ids stay different (long ones
 * by a hash).
 */
export function shortId(id: string, maxLength: number): string {
  return id.length <= maxLength ? id : hashed(id, id, maxLength);
}

/** The same with letters, digits, `_` and `-` only, for servers that refuse other characters. */
export function plainId(id: string, maxLength: number): string {
  if (/^[\w-]+$/.test(id) && id.length <= maxLength) return id;
  return hashed(id, id.replaceAll(/[^\w-]/g, "_"), maxLength);
}

/** The longest name that OpenAI and Anthropic accept. */
const MAX_NAME = 64;

/**
 * A name that servers accept, such as that of a called tool: one that a model invented, or that another provider allowed, would make the
 * whole conversation unsendable. `otherwise` stands for an empty name.
 */
export function plainName(name: string, otherwise = "unnamed"): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, MAX_NAME) || otherwise;
}

function hashed(id: string, shown: string, maxLength: number): string {
  const hash = hashOf(id);
  return `${shown.slice(0, maxLength - 1 - hash.length)}_${hash}`;
}

function hashOf(id: string): string {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let at = 0; at < id.length; at++) {
    low = Math.imul(low ^ codeAt(id, at), 0x01000193);
    high = Math.imul(high ^ low, 0x85ebca6b);
  }
  return [low, high].map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Reserved for the number that makes an id unique. */
const NUMBER_LENGTH = 8;

/** Gives out each id only once. */
export interface IdGiver {
  /** The wanted id, or a similar one if it is taken. */
  give(wanted: string): string;
}

/** An `IdGiver`. The same requests in the same order always give the same ids. */
export function uniqueIds(maxLength = Number.POSITIVE_INFINITY): IdGiver {
  /** The ids that were given out, each with the next number to try for a similar one. */
  const taken = new Map<string, number>();
  return {
    give(wanted) {
      let id = wanted;
      let next = taken.get(wanted) ?? 2;
      while (taken.has(id)) id = `${wanted.slice(0, maxLength - NUMBER_LENGTH)}_${next++}`;
      taken.set(wanted, next);
      taken.set(id, taken.get(id) ?? 2);
      return id;
    },
  };
}

/** The ids of the calls of a conversation as they are sent. */
export interface CallIds {
  /** The id to send for a new call. */
  begin(id: string): string;
  /** The id that the latest call with this id was sent with. */
  latest(id: string): string;
}

/**
 * Ids of at most `maxLength` letters, digits, `_` and `-`. They are unique, since some servers start again at `call_0` in each turn, and
 * others refuse that. The same conversation always gets the same ids, and later messages do not change earlier ids, so that a
 * server's cache finds it again.
 */
export function callIds(maxLength: number): CallIds {
  const ids = uniqueIds(maxLength);
  const sent = new Map<string, string>();
  return {
    begin(id) {
      const given = ids.give(plainId(id, maxLength));
      sent.set(id, given);
      return given;
    },
    latest: (id) => sent.get(id) ?? plainId(id, maxLength),
  };
}
