import type { Agent } from "@ravi/kernel";
import { readChoice } from "../parse/choice.ts";
import { fieldOf, findObject } from "../parse/json.ts";

/** What a member of a swarm wants: to hand on, or to have answered. */
export interface Handoff {
  readonly to: string;
  readonly task: string;
}

const MARK = /^[^\p{L}\p{N}]*hand[\s_-]?off(?:\s+to)?\s*[:\s]\s*/iu;
const NAME = /^["'`*]*([\p{L}\p{N}_-]+)["'`*]*\s*(?<mark>[:,.-]?)\s*(.*)$/u;
const NOBODY = new Set(["", "none", "null", "no", "nobody", "false", "n/a"]);

/**
 * Reads a hand-off out of an answer: a line of its own, or JSON. Undefined: it is an answer. To somebody whom nobody knows only
 * an answer hands on that is nothing else: others are texts which happen to speak of hand-offs.
 */
export function readHandoff(text: string, members: readonly string[] = []): Handoff | undefined {
  const object = findObject(text);
  const to = object === undefined ? undefined : fieldOf(object, ["handoff", "handoffTo", "transferTo"]);
  if (object !== undefined && typeof to === "string" && !NOBODY.has(to.trim().toLowerCase())) {
    const task = fieldOf(object, ["task", "message", "reason"]);
    return { to, task: typeof task === "string" ? task : "" };
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  for (const line of lines) {
    const mark = MARK.exec(line)?.[0];
    if (mark === undefined) continue;
    const rest = line.slice(mark.length);
    const known = knownIn(rest, members);
    if (known !== undefined) return known;
    const found = NAME.exec(rest);
    const isAlone = lines.length === 1 && (found?.groups?.["mark"] === ":" || found?.[3] === "");
    if (found !== null && isAlone) return { to: found[1] ?? "", task: (found[3] ?? "").trim() };
  }
  return undefined;
}

/** The longest name that a line begins with: names may have more than one word. */
function knownIn(line: string, members: readonly string[]): Handoff | undefined {
  const text = line.replace(/^["'`*]+/, "");
  for (const to of members.toSorted((a, b) => b.length - a.length)) {
    if (text.slice(0, to.length).toLowerCase() !== to.toLowerCase()) continue;
    const rest = text.slice(to.length);
    if (/^[\p{L}\p{N}_]/u.test(rest)) continue;
    return { to, task: rest.replace(/^["'`*]*\s*[:,.-]?\s*/, "").trim() };
  }
  return undefined;
}

/** The member of that name, however it is written. */
export function memberNamed(name: string, members: Readonly<Record<string, Agent>>): string | undefined {
  return readChoice(name, Object.keys(members), []);
}

/**
 * Whether those who had the work go round in circles: the last ones are the same, in the same order, as those before them.
 * Coming back once (A, B, A) is a conversation; A, B, A, B is a circle.
 */
export function isCircle(trail: readonly string[]): boolean {
  for (let length = 1; length * 2 <= trail.length; length++) {
    const last = trail.slice(-length);
    const before = trail.slice(-2 * length, -length);
    if (last.every((name, at) => name === before[at])) return true;
  }
  return false;
}
