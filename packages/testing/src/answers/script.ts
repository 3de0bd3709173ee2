import { InvalidValueError, type MaybePromise, type ModelRequest } from "@ravi/kernel";
import type { Answer } from "./answer.ts";
import { describeRequest, lastText } from "./describe.ts";

/**
 * Creates an answer from the request; it may be async. `call` is the number of the call (from 0) for a model, and a
 * `LoopbackCall` for a server.
 */
export type ScriptFunction<Call = number> = (request: ModelRequest, call: Call) => MaybePromise<Answer>;

/** An answer for all requests that match. */
export interface ScriptMatcher<Call = number> {
  /** A string or a pattern is searched in the last text of a user or a tool; a function gets the whole request. */
  readonly when: string | RegExp | ((request: ModelRequest) => boolean);
  readonly answer: Answer | ScriptFunction<Call>;
}

/**
 * A list of answers, or of functions that give one, in the order of the calls; or a list of matchers, of which the first that matches answers (any number of
 * times); or a function. A list of both is refused at run time: as a type error, every mistake in an answer would be reported as that.
 */
export type Script<Call = number> =
  | readonly (Answer | ScriptFunction<Call> | ScriptMatcher<Call>)[]
  | ScriptFunction<Call>;

/** Returns the answer to call number `index`, from 0. Throws an `InvalidValueError` if the script has none. */
export type CompiledScript<Call> = (request: ModelRequest, index: number, call: Call) => MaybePromise<Answer>;

/** Turns a script into a function. Throws an `InvalidValueError` if it mixes answers and matchers. */
export function compileScript<Call>(script: Script<Call>): CompiledScript<Call> {
  if (typeof script === "function") return (request, _index, call) => script(request, call);
  if (!isList(script)) {
    throw new InvalidValueError({
      field: "script",
      value: script,
      expected: "a list of answers, a list of matchers ({ when, answer }), or a function",
    });
  }
  // `filter` copies, so changing the list later does not change the answers.
  const matchers = script.filter((item) => isMatcher(item));
  const answers = script.filter((item): item is Given<Call> => !isMatcher(item));
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

type Given<Call> = ScriptMatcher<Call>["answer"];

function isMatcher<Call>(item: Given<Call> | ScriptMatcher<Call>): item is ScriptMatcher<Call> {
  return typeof item === "object" && item !== null && "when" in item;
}

function inSequence<Call>(answers: readonly Given<Call>[]): CompiledScript<Call> {
  return (request, index, call) => {
    const answer = answers[index];
    if (answer !== undefined) return given(answer, request, call);
    throw unexpected(request, index, `the script has ${answers.length} answers`);
  };
}

function byMatch<Call>(matchers: readonly ScriptMatcher<Call>[]): CompiledScript<Call> {
  return (request, index, call) => {
    const text = lastText(request);
    for (const { when, answer } of matchers) {
      if (fits(when, request, text)) return given(answer, request, call);
    }
    const tried = matchers.map(({ when }) => (typeof when === "function" ? "a function" : String(when)));
    throw unexpected(request, index, `no matcher fits (${tried.join(", ")})`);
  };
}

function given<Call>(answer: Given<Call>, request: ModelRequest, call: Call): MaybePromise<Answer> {
  return typeof answer === "function" ? answer(request, call) : answer;
}

function fits(when: ScriptMatcher["when"], request: ModelRequest, text: string): boolean {
  if (typeof when === "function") return when(request);
  // `search` always starts at the beginning; `test` would continue where a /g pattern stopped.
  return typeof when === "string" ? text.includes(when) : text.search(when) !== -1;
}

function unexpected(request: ModelRequest, index: number, why: string): InvalidValueError {
  return new InvalidValueError({
    field: `call ${index + 1}`,
    value: lastText(request),
    expected: `no such call: ${why}. Add an answer for it, or find out why it was made:\n${describeRequest(request)}`,
  });
}
