import type { HireLeaf } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import { asOwn, checkFields, checkRecord } from "../core/check.ts";
import { meantBy } from "../core/spelling.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { shortName } from "../errors/show.ts";
import type { DelegateTool } from "../model/tool.ts";

/** On what terms somebody is hired, beside who it is and what it is to do. */
export const HIRE_TERMS = [
  "attachments",
  "priority",
  "executionBudget",
  "retention",
  "timeoutS",
  "onTimeout",
  "onPreempt",
  "onFull",
] as const satisfies readonly (keyof HireLeaf)[];

const SPAWN_OPTIONS = ["input", ...HIRE_TERMS] as const satisfies readonly (keyof HireLeaf)[];

type Terms<T> = Omit<HireLeaf<T>, "kind" | "agent">;

/**
 * For `spawn`, which puts them together with whom it is about: a limit that is inherited is one too. Refuses `timeoutS`, which limits how
 * long a parent waits: nobody waits for a spawned agent, so it would have no effect.
 */
export function spawnTerms<T>(options: Terms<T>): Terms<T> {
  checkRecord("spawn", options, "an object with the options of a hire, such as { input }");
  checkHireSpelling(options);
  const terms = asOwn<Terms<T>>(options, SPAWN_OPTIONS);
  if (terms.timeoutS === undefined) return terms;
  const expected =
    "undefined, because nobody waits for a spawned agent; limit its time with executionBudget.deadlineS";
  throw wrong("spawn.timeoutS", terms.timeoutS, expected);
}

export type AskOptions = NonNullable<Parameters<RunContext["ask"]>[2]>;

/** Refuses an option of `ask` that nobody would read: a time limit under another name would be none. */
export function askOptions(options: AskOptions): AskOptions {
  return checkFields("ask options", options, ["timeoutS", "attachments"]);
}

const HIRE_FIELDS: ReadonlySet<string> = new Set([
  "kind",
  "agent",
  ...SPAWN_OPTIONS,
] satisfies (keyof HireLeaf)[]);

/** What a run, or the sdk, calls what a hire calls otherwise, and what is too short to be taken for a misspelling. */
const MEANT: { readonly [name: string]: keyof HireLeaf } = {
  budget: "executionBudget",
  limits: "executionBudget",
  task: "input",
  prompt: "input",
};

/**
 * Refuses a field that nobody would read: a limit under another name would be none. An instance of a class may have fields of its own.
 * `agent` may stand beside the options of `spawn`.
 */
export function checkHireSpelling(leaf: object): void {
  for (const name in leaf) {
    if (HIRE_FIELDS.has(name)) continue;
    const kind: unknown = Object.getPrototypeOf(leaf);
    if (kind !== Object.prototype && kind !== null) return;
    throw unknownField(leaf, name);
  }
}

function unknownField(leaf: object, name: string): InvalidValueError {
  const known = [...HIRE_FIELDS];
  const meant = Object.hasOwn(MEANT, name) ? MEANT[name] : meantBy(name, known);
  const guess = meant === undefined ? "" : `; did you mean ${meant}?`;
  const expected = `no field of that name; known fields: ${known.join(", ")}${guess}`;
  return wrong(`hire.${shortName(name)}`, Reflect.get(leaf, name), expected);
}

/** What is wrong with a second argument of `hire`, in untyped code: options there would be ignored. */
export function secondHireArgument(more: unknown): InvalidValueError | undefined {
  if (more === undefined) return undefined;
  const expected =
    "nothing; put the options beside agent and input, as in ctx.hire({ agent, input, executionBudget })";
  return wrong("the second argument of ctx.hire", more, expected);
}

type Choices = Pick<HireLeaf, "onFull" | "onPreempt" | "onTimeout">;

/** Any other value would be taken for the default. */
export function checkHireChoices(field: string, { onFull, onPreempt, onTimeout }: Choices): void {
  if (onFull !== undefined && onFull !== "deny" && onFull !== "queue")
    throw wrong(`${field}.onFull`, onFull, '"deny" or "queue"');
  if (onPreempt !== undefined && onPreempt !== "park" && onPreempt !== "return")
    throw wrong(`${field}.onPreempt`, onPreempt, '"park" or "return"');
  if (onTimeout !== undefined && onTimeout !== "cancel" && onTimeout !== "leave")
    throw wrong(`${field}.onTimeout`, onTimeout, '"cancel" or "leave"');
}

/** The same for a delegate, which may inherit attachments. */
export function checkDelegateChoices(
  field: string,
  { attachments, ...choices }: Choices & Pick<DelegateTool, "attachments">,
): void {
  if (attachments !== undefined && attachments !== "inherit")
    throw wrong(`${field}.attachments`, attachments, '"inherit"');
  checkHireChoices(field, choices);
}

function wrong(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
