import type { Agent } from "@ravi/kernel";
import { readChoice } from "../parse/choice.ts";
import { fieldOf, findObject } from "../parse/json.ts";

/** What a member of a swarm wants: to hand on, or to have answered. */
export interface Handoff {
  readonly to: string;
  readonly task: string;
}

const MARK = /^[^\p{L}\p{N}]*hand[\s_-]?off(?:\s+to)?\s*[:\s]\s*/iu;
const NAME = /^["'`*]*([\p{L}\p{N}_-]+)["'`*]*\s*(?<mark>[:,.-]?)\s*(.*)$/su;
/** What follows the name of whoever is handed to: a mark and the task, or nothing more. A word makes it a sentence. */
const AFTER_NAME = /^["'`*]*(?:\s*:|\s+[-–—](?=\s)|\s*(?:\.\s*)?$)["'`*]*/u;
const LIST_LINE = /^(?:\s+\S|\s*(?:[-*•]|\d+[.)])\s)/;
const FENCED = /^\s*```\w*\n([\s\S]*?)\n```\s*$/;
const NOBODY = new Set(["", "none", "null", "no", "nobody", "false", "n/a"]);

/**
 * Reads a hand-off out of an answer: a line of its own, or JSON. Undefined: it is an answer. The line begins or ends the text,
 * with what is to be done after it; in the middle of one it is a text which happens to speak of hand-offs. So it is with
 * somebody whom nobody knows, unless the answer is nothing else.
 */
export function readHandoff(text: string, members: readonly string[] = []): Handoff | undefined {
  const object = findObject(text);
  const to = object === undefined ? undefined : fieldOf(object, ["handoff", "handoffTo", "transferTo"]);
  if (object !== undefined && typeof to === "string" && !NOBODY.has(to.trim().toLowerCase())) {
    const task = fieldOf(object, ["task", "message", "reason"]);
    return { to, task: typeof task === "string" ? task : "" };
  }
  const lines = (FENCED.exec(text)?.[1] ?? text).split("\n").filter((line) => line.trim() !== "");
  const lastSentence = lines.findLastIndex((line) => !LIST_LINE.test(line));
  for (const [at, line] of lines.entries()) {
    const mark = MARK.exec(line)?.[0];
    // One in a list of others is a part of that list, unless it is the last word.
    const isLast = at === lastSentence || at === lines.length - 1;
    if (mark === undefined || (at > 0 && !isLast)) continue;
    const found = knownIn(line.slice(mark.length), members);
    const handoff = found ?? (at === 0 && isLast ? strangerIn(line.slice(mark.length)) : undefined);
    if (handoff === undefined) continue;
    return { ...handoff, task: [handoff.task, ...lines.slice(at + 1)].join("\n").trim() };
  }
  return undefined;
}

/** The longest name that a line begins with: names may have more than one word. */
function knownIn(line: string, members: readonly string[]): Handoff | undefined {
  const text = line.replace(/^["'`*]+/, "");
  for (const to of members.toSorted((a, b) => b.length - a.length)) {
    if (text.slice(0, to.length).toLowerCase() !== to.toLowerCase()) continue;
    const rest = text.slice(to.length);
    const mark = AFTER_NAME.exec(rest)?.[0];
    if (mark !== undefined) return { to, task: rest.slice(mark.length).trim() };
  }
  return undefined;
}

/** Somebody whom nobody knows: what is to be done is said, or nothing at all. */
function strangerIn(line: string): Handoff | undefined {
  const found = NAME.exec(line);
  if (found === null || (found.groups?.["mark"] !== ":" && found[3] !== "")) return undefined;
  return { to: found[1] ?? "", task: (found[3] ?? "").trim() };
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
