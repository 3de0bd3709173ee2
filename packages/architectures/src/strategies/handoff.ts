import type { Agent } from "@ravi/kernel";
import { readChoice } from "../parse/choice.ts";
import { fieldOf, findObject } from "../parse/json.ts";

/** A member's request to hand the work over to another one. */
export interface Handoff {
  readonly to: string;
  readonly task: string;
}

const MARK = /^[^\p{L}\p{N}]*hand[\s_-]?off(?:\s+to)?\s*[:\s]\s*/iu;
const NAME = /^["'`*]*([\p{L}\p{N}_-]+)["'`*]*\s*(?<mark>[:,.-]?)\s*(.*)$/su;
/**
 * What may follow the name in a hand-off: punctuation and the task, or nothing. If a word follows, it is an ordinary sentence.
 */
const AFTER_NAME = /^["'`*\])>]*(?:\s*:|\s+[-–—](?=\s)|\s*(?:\.\s*)?$)["'`*]*/u;
const LIST_LINE = /^(?:\s+\S|\s*(?:[-*•]|\d+[.)])\s)/;
const FENCED = /^\s*```\w*\n([\s\S]*?)\n```\s*$/;
const NOBODY = new Set(["", "none", "null", "no", "nobody", "false", "n/a"]);

/**
 * Reads a hand-off from an answer, as JSON or as a line of its own. Undefined if the text is an answer. The line must begin or end the
 * text, with the task after it; in the middle, the text only happens to mention a hand-off. A hand-off to an unknown member counts only if
 * the answer consists of nothing else.
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
    // A line inside a list belongs to that list, unless it is the last line.
    const isLast = at === lastSentence || at === lines.length - 1;
    if (mark === undefined || (at > 0 && !isLast)) continue;
    const found = knownIn(line.slice(mark.length), members);
    const handoff = found ?? (at === 0 && isLast ? unknownIn(line.slice(mark.length)) : undefined);
    if (handoff === undefined) continue;
    return { ...handoff, task: [handoff.task, ...lines.slice(at + 1)].join("\n").trim() };
  }
  return undefined;
}

/** Matches the longest member name that the line begins with: names may have several words. */
function knownIn(line: string, members: readonly string[]): Handoff | undefined {
  const text = line.replace(/^["'`*@[(<]+/, "");
  for (const to of members.toSorted((a, b) => b.length - a.length)) {
    if (text.slice(0, to.length).toLowerCase() !== to.toLowerCase()) continue;
    const rest = text.slice(to.length);
    const mark = AFTER_NAME.exec(rest)?.[0];
    if (mark !== undefined) return { to, task: rest.slice(mark.length).trim() };
  }
  return undefined;
}

/** A hand-off to an unknown name. It must be followed by a colon, or by nothing. */
function unknownIn(line: string): Handoff | undefined {
  const found = NAME.exec(line);
  if (found === null || (found.groups?.["mark"] !== ":" && found[3] !== "")) return undefined;
  return { to: found[1] ?? "", task: (found[3] ?? "").trim() };
}

/** The member with that name, in any spelling. */
export function memberNamed(name: string, members: Readonly<Record<string, Agent>>): string | undefined {
  return readChoice(name, Object.keys(members), []);
}

/**
 * Whether the work goes round in circles: the last members are the same, in the same order, as those before them. A, B, A is a
 * conversation; A, B, A, B is a circle.
 */
export function isCircle(trail: readonly string[]): boolean {
  for (let length = 1; length * 2 <= trail.length; length++) {
    const last = trail.slice(-length);
    const before = trail.slice(-2 * length, -length);
    if (last.every((name, at) => name === before[at])) return true;
  }
  return false;
}
