import type { RequestLine } from "./request-lines.ts";

type Step = { readonly sign: " " | "-" | "+"; readonly line: RequestLine };

/** Unchanged lines to show around a change. */
const CONTEXT = 2;
const MAX_LINES = 60;
const SHOWN_CHARACTERS = 200;

/** The share of lines that two requests have in common, relative to the longer one: 1 if they are the same. */
export function similarity(a: readonly RequestLine[], b: readonly RequestLine[]): number {
  const counts = new Map<string, number>();
  for (const line of a) counts.set(keyOf(line), (counts.get(keyOf(line)) ?? 0) + 1);
  let shared = 0;
  for (const line of b) {
    const left = counts.get(keyOf(line)) ?? 0;
    if (left === 0) continue;
    counts.set(keyOf(line), left - 1);
    shared++;
  }
  return shared / Math.max(a.length, b.length, 1);
}

/** A unified diff. Each group of changes is headed by its place in the request. */
export function unifiedDiff(recorded: readonly RequestLine[], asked: readonly RequestLine[]): string {
  const steps = stepsOf(recorded, asked);
  const shown = steps.map((_, at) =>
    steps.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ sign }) => sign !== " "),
  );
  const focus = focusOf(steps);
  const lines: string[] = [];
  for (const [at, step] of steps.entries()) {
    if (shown[at] !== true) continue;
    const isNewPlace = steps[at - 1]?.line.path !== step.line.path;
    if (at === 0 || shown[at - 1] !== true || isNewPlace) lines.push(`@@ ${step.line.path} @@`);
    lines.push(`${step.sign}${clip(step.line.text, focus.get(step) ?? 0)}`);
  }
  const left = lines.length - MAX_LINES;
  const kept = left > 0 ? [...lines.slice(0, MAX_LINES), `... and ${left} more lines`] : lines;
  return ["--- recorded", "+++ asked", ...kept].join("\n");
}

/** If the comparison would need more cells than this, everything between the common start and end is shown as replaced. */
const MAX_CELLS = 1_000_000;

/** The shortest edit between two requests. Only what lies between their common start and end is compared. */
function stepsOf(a: readonly RequestLine[], b: readonly RequestLine[]): readonly Step[] {
  let start = 0;
  while (start < a.length && start < b.length && isSame(a[start], b[start])) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && isSame(a.at(-1 - end), b.at(-1 - end))) end++;
  return [
    ...a.slice(0, start).map((line) => ({ sign: " ", line }) as const),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((line) => ({ sign: " ", line }) as const),
  ];
}

function middle(a: readonly RequestLine[], b: readonly RequestLine[]): readonly Step[] {
  const taken = (line: RequestLine): Step => ({ sign: "-", line });
  const put = (line: RequestLine): Step => ({ sign: "+", line });
  const width = b.length + 1;
  if ((a.length + 1) * width > MAX_CELLS) return [...a.map(taken), ...b.map(put)];
  /** For (i, j): the length of the longest common subsequence of the lines from there on. */
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = isSame(a[i], b[j])
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const steps: Step[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const [x, y] = [a[i], b[j]];
    if (x !== undefined && y !== undefined && isSame(x, y)) {
      steps.push({ sign: " ", line: x });
      i++;
      j++;
    } else if (x !== undefined && (y === undefined || at(i + 1, j) >= at(i, j + 1))) {
      steps.push(taken(x));
      i++;
    } else if (y !== undefined) {
      steps.push(put(y));
      j++;
    }
  }
  return steps;
}

function isSame(a: RequestLine | undefined, b: RequestLine | undefined): boolean {
  return a !== undefined && b !== undefined && a.text === b.text && a.path === b.path;
}

function keyOf({ path, text }: RequestLine): string {
  return `${path}\n${text}`;
}

/** For each changed line, where it begins to differ from the line that replaced it. That part of a long line has to be shown. */
function focusOf(steps: readonly Step[]): ReadonlyMap<Step, number> {
  const focus = new Map<Step, number>();
  for (let at = 0; at < steps.length; at++) {
    const taken = runOf(steps, at, "-");
    if (taken.length === 0) continue;
    const put = runOf(steps, at + taken.length, "+");
    for (const [index, before] of taken.entries()) {
      const after = put[index];
      if (after === undefined) break;
      const [a, b] = [before.line.text, after.line.text];
      let same = 0;
      while (same < a.length && a[same] === b[same]) same++;
      focus.set(before, same).set(after, same);
    }
    at += taken.length;
  }
  return focus;
}

function runOf(steps: readonly Step[], from: number, sign: Step["sign"]): readonly Step[] {
  let end = from;
  while (steps[end]?.sign === sign) end++;
  return steps.slice(from, end);
}

function clip(text: string, focus: number): string {
  if (text.length <= SHOWN_CHARACTERS) return text;
  const start = focus < SHOWN_CHARACTERS / 2 ? 0 : Math.min(focus - 60, text.length - SHOWN_CHARACTERS);
  const end = start + SHOWN_CHARACTERS;
  const shown = `${start > 0 ? "..." : ""}${text.slice(start, end)}${end < text.length ? "..." : ""}`;
  return `${shown} (${text.length} characters)`;
}
