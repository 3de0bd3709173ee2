import { InvalidValueError } from "@ravi/kernel";
import { isObject, loadDefault, madeBy } from "../extensions/load.ts";
import type { Guardrail, GuardrailSource } from "./guardrail.ts";

export interface GuardrailSources {
  /** Given as they are, by the options or by extensions. */
  readonly given: readonly GuardrailSource[];
  /** Paths. A guardrail of a file takes the place of any other of its name. */
  readonly files: readonly string[];
  readonly cwd: string;
}

/** A guardrail, and whether it is this session's own: one that is shared with a parent is not told of turns. */
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

/** The same guardrails for a child: its own where they can be made, shared where they cannot. */
export function inherit(guardrails: readonly OwnedGuardrail[]): OwnedGuardrail[] {
  return guardrails.map(({ guardrail, source }) =>
    typeof source === "function" ? own(source, guardrail.name) : { guardrail, source, isOwn: false },
  );
}

function own(source: GuardrailSource, where: string): OwnedGuardrail {
  const guardrail = madeBy(source, where);
  if (isGuardrail(guardrail)) return { guardrail, source, isOwn: true };
  const expected =
    "a guardrail: an object with a name and beforeCall or afterCall, or a function that makes one";
  throw new InvalidValueError({ field: where, value: guardrail, expected });
}

function isGuardrail(value: unknown): value is Guardrail {
  if (!isObject(value) || typeof Reflect.get(value, "name") !== "string") return false;
  return ["beforeCall", "afterCall"].some((method) => typeof Reflect.get(value, method) === "function");
}
