import { InvalidValueError, type MaybePromise, type ModelRequest } from "@ravi/kernel";
import type { Answer } from "./answer.ts";
import { describeRequest, lastText } from "./describe.ts";

/** Makes an answer from the request. `Call` is the call's number for a model, and more for a server. */
export type ScriptFunction<Call = number> = (request: ModelRequest, call: Call) => MaybePromise<Answer>;

export interface ScriptMatcher<Call = number> {
  /** A string is looked for in the last text of a user or a tool, a pattern is tried on it. */
  readonly when: string | RegExp | ((request: ModelRequest) => boolean);
  readonly answer: Answer | ScriptFunction<Call>;
}

/** Answers in sequence, or the first matcher that fits (as often as it fits), or a function. */
export type Script<Call = number> = readonly Answer[] | readonly ScriptMatcher<Call>[] | ScriptFunction<Call>;

/** The answer to the call numbered `index` from 0. Throws an `InvalidValueError` when the script has none. */
export type CompiledScript<Call> = (request: ModelRequest, index: number, call: Call) => MaybePromise<Answer>;

export function compileScript<Call>(script: Script<Call>): CompiledScript<Call> {
  if (typeof script === "function") return (request, _index, call) => script(request, call);
  if (!isList(script)) {
    throw new InvalidValueError({ field: "script", value: script, expected: "a list or a function" });
  }
  // Copies, so that a list which is changed later does not change what is answered.
  const items: readonly (Answer | ScriptMatcher<Call>)[] = script;
  const matchers = items.filter((item) => isMatcher(item));
  const answers = items.filter((item): item is Answer => !isMatcher(item));
  if (matchers.length === 0) return inSequence(answers);
  if (answers.length === 0) return byMatch(matchers);
  throw new InvalidValueError({
    field: "script",
    value: script,
    expected: "only answers or only matchers ({ when, answer }); this list has both",
  });
}

function isList(script: unknown): boolean {
  return Array.isArray(script);
}

function isMatcher<Call>(item: Answer | ScriptMatcher<Call>): item is ScriptMatcher<Call> {
  return typeof item === "object" && item !== null && "when" in item;
}

function inSequence<Call>(answers: readonly Answer[]): CompiledScript<Call> {
  return (request, index) => {
    const answer = answers[index];
    if (answer !== undefined) return answer;
    throw unexpected(request, index, `the script has ${answers.length} answers`);
  };
}

function byMatch<Call>(matchers: readonly ScriptMatcher<Call>[]): CompiledScript<Call> {
  return (request, index, call) => {
    const text = lastText(request);
    for (const { when, answer } of matchers) {
      if (fits(when, request, text)) return typeof answer === "function" ? answer(request, call) : answer;
    }
    const tried = matchers.map(({ when }) => (typeof when === "function" ? "a function" : String(when)));
    throw unexpected(request, index, `none of the matchers fits (${tried.join(", ")})`);
  };
}

function fits(when: ScriptMatcher["when"], request: ModelRequest, text: string): boolean {
  if (typeof when === "function") return when(request);
  // `search` starts at the beginning each time; `test` would carry on where a /g pattern stopped.
  return typeof when === "string" ? text.includes(when) : text.search(when) !== -1;
}

function unexpected(request: ModelRequest, index: number, why: string): InvalidValueError {
  return new InvalidValueError({
    field: `call ${index + 1}`,
    value: lastText(request),
    expected: `no such call: ${why}. Add an answer for it, or find out why it was made:\n${describeRequest(request)}`,
  });
}
