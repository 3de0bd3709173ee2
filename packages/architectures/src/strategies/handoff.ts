import type { Agent } from "@ravi/kernel";
import { fieldOf, findObject } from "../parse/json.ts";

/** What a member of a swarm wants: to hand on, or to have answered. */
export interface Handoff {
  readonly to: string;
  readonly task: string;
}

const LINE = /^\W*hand[\s_-]?off(?:\s+to)?\s*[:\s]\s*["'`*]*([\p{L}\p{N}_-]+)["'`*]*\s*[:,.-]?\s*(.*)$/iu;

/** Reads a hand-off out of an answer: a line of its own, or JSON. Undefined: it is an answer. */
export function readHandoff(text: string): Handoff | undefined {
  const object = findObject(text);
  const to = object === undefined ? undefined : fieldOf(object, ["handoff", "handoffTo", "transferTo"]);
  if (object !== undefined && typeof to === "string") {
    const task = fieldOf(object, ["task", "message", "reason"]);
    return { to, task: typeof task === "string" ? task : "" };
  }
  for (const line of text.split("\n")) {
    const found = LINE.exec(line);
    if (found !== null) return { to: found[1] ?? "", task: (found[2] ?? "").trim() };
  }
  return undefined;
}

/** The member of that name, however it is written. */
export function memberNamed(name: string, members: Readonly<Record<string, Agent>>): string | undefined {
  const wanted = name.toLowerCase();
  return Object.keys(members).find((member) => member.toLowerCase() === wanted);
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
