import { InvalidValueError } from "@ravi/kernel";
import { checkSpelling } from "@ravi/kernel/loop";
import { fieldsOf } from "@ravi/kernel/provider";
import { loadDefault, callIfFunction } from "../extensions/load.ts";
import type { Guardrail, GuardrailSource } from "./guardrail.ts";

export interface GuardrailSources {
  /** From the options or from extensions. */
  readonly given: readonly GuardrailSource[];
  /** Paths. A guardrail from a file replaces others of the same name. */
  readonly files: readonly string[];
  readonly cwd: string;
}

/**
 * A guardrail, and whether it belongs to this session. One that is shared with a parent is not told when a child's turn begins,
 * since that would reset its counts.
 */
export interface OwnedGuardrail {
  readonly guardrail: Guardrail;
  readonly source: GuardrailSource;
  readonly isOwn: boolean;
}

export async function loadGuardrails({ given, files, cwd }: GuardrailSources): Promise<OwnedGuardrail[]> {
  const fromFiles: OwnedGuardrail[] = [];
  for (const file of files) fromFiles.push(own((await loadDefault(file, cwd)) as GuardrailSource, file));
  const taken = new Set(fromFiles.map(({ guardrail }) => guardrail.name));
  const others = given.map((source, at) => own(source, `guardrails[${at}]`));
  return [...others.filter(({ guardrail }) => !taken.has(guardrail.name)), ...fromFiles];
}

/** The guardrails for a child: a new one if the source is a function, otherwise shared with the parent. */
export function inherit(guardrails: readonly OwnedGuardrail[]): OwnedGuardrail[] {
  return guardrails.map(({ guardrail, source }) =>
    typeof source === "function" ? own(source, guardrail.name) : { guardrail, source, isOwn: false },
  );
}

function own(source: GuardrailSource, where: string): OwnedGuardrail {
  const guardrail = callIfFunction(source, where);
  if (isGuardrail(guardrail)) {
    checkSpelling(where, guardrail, METHODS, "function");
    return { guardrail, source, isOwn: true };
  }
  const expected =
    "a guardrail: an object with a name and a method onTurnStart, beforeCall or afterCall, or a function that returns one";
  throw new InvalidValueError({ field: where, value: guardrail, expected });
}

const METHODS = ["onTurnStart", "beforeCall", "afterCall"] as const satisfies readonly (keyof Guardrail)[];

function isGuardrail(value: unknown): value is Guardrail {
  const { name, onTurnStart, beforeCall, afterCall, ...others } = fieldsOf(value);
  const given = [onTurnStart, beforeCall, afterCall].filter((method) => method !== undefined);
  if (typeof name !== "string" || given.length === 0 || !given.every(isFunction)) return false;
  // One that decides nothing but has a method of its own is meant to decide by that one, which nobody would call.
  return (beforeCall ?? afterCall) !== undefined || !Object.values(others).some(isFunction);
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}
