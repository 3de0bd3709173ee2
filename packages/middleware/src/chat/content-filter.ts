import {
  type ChatContext,
  type ChatMessage,
  type ModelResponse,
  checkBoolean,
  checkFields,
  InvalidValueError,
  textOf,
} from "@ravi/kernel";
import { checkOnError, enforce, type OnGuardError, trip } from "../guard.ts";
import { checkWord } from "../options.ts";
import { chainFilters, filterWhole, type TextFilter } from "../text/filter.ts";
import { isLinearPattern, type LinearPattern, lineFilter } from "../text/linear-pattern.ts";
import { literal } from "../text/literal.ts";
import { plainText } from "../text/plain.ts";
import type { Detector } from "../text/reader.ts";
import { createScanner } from "../text/scanner.ts";
import { type FilterStream, filterStream, watchStream } from "../text/stream.ts";
import type { ChatMiddleware } from "../types.ts";

export interface ContentFilterOptions {
  /** Words and phrases, and expressions made with `await linearPattern(…)`. */
  readonly blocked: readonly (string | LinearPattern)[];
  /** Default: both. */
  readonly sides?: "input" | "output" | "both" | undefined;
  /** Default true. */
  readonly ignoreCase?: boolean | undefined;
  /** Whether a word only counts when it stands alone (`class` is not `ass`). Default true. */
  readonly wholeWords?: boolean | undefined;
  readonly onError?: OnGuardError | undefined;
}

const LAYER = "contentFilter";

/** Stops a run in which a blocked word is said, by either side. A streamed answer stops before the word is out. */
export function contentFilter(options: ContentFilterOptions): ChatMiddleware {
  const { makeFilter, sides, onError } = checked(options);
  const streams = new WeakMap<ChatContext, FilterStream>();
  const check = (context: ChatContext, texts: () => Iterable<string>): unknown =>
    enforce({ layer: LAYER, context, onError }, () => {
      for (const text of texts()) {
        const plain = plainText(text);
        const word =
          firstBlocked(makeFilter, text) ?? (plain === text ? undefined : firstBlocked(makeFilter, plain));
        if (word !== undefined) return `it contains ${word}`;
      }
      return undefined;
    });
  return {
    level: "chat",
    name: LAYER,
    async process(context, next) {
      // What the system says is the user's own text, and may name what is forbidden.
      if (sides !== "output")
        await check(context, () =>
          context.request.messages.filter(({ role }) => role !== "system").flatMap(textsOf),
        );
      if (sides === "input") return next();
      watchStream(streams, context, () => stoppingStream(context, makeFilter, onError));
      await next();
      if (context.result !== undefined) await check(context, () => responseTexts(context.result));
      return undefined;
    },
  };
}

function* responseTexts(response: ModelResponse | undefined): Generator<string> {
  if (response !== undefined) yield* textsOf(response.message);
}

function textsOf(message: ChatMessage): string[] {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  return [textOf(message), ...calls.map((call) => call.arguments)];
}

/** Thrown by a filter at the first blocked word. */
class Blocked extends Error {}

type MakeFilter = () => TextFilter;

function firstBlocked(makeFilter: MakeFilter, text: string): string | undefined {
  try {
    filterWhole(makeFilter(), text);
    return undefined;
  } catch (error) {
    if (error instanceof Blocked) return error.message;
    throw error;
  }
}

function stoppingStream(context: ChatContext, makeFilter: MakeFilter, onError: OnGuardError): FilterStream {
  const stopping = (): TextFilter => {
    const inner = makeFilter();
    const guarded = (step: () => string, text: string): string => {
      try {
        return step();
      } catch (error) {
        if (!(error instanceof Blocked) && onError === "allow") return text;
        const reason = error instanceof Blocked ? `it contains ${error.message}` : "the guard itself failed";
        return trip(context, LAYER, reason, error);
      }
    };
    return {
      push: (text) => guarded(() => inner.push(text), text),
      end: () => guarded(() => inner.end(), ""),
    };
  };
  return filterStream({ filter: stopping, response: (response) => response });
}

function checked(options: ContentFilterOptions): {
  makeFilter: MakeFilter;
  sides: "input" | "output" | "both";
  onError: OnGuardError;
} {
  checkFields(LAYER, options, ["blocked", "sides", "ignoreCase", "wholeWords", "onError"]);
  const { blocked } = options;
  if (!Array.isArray(blocked) || blocked.length === 0) {
    throw new InvalidValueError({
      field: `${LAYER}.blocked`,
      value: blocked,
      expected: "a list of at least one word or pattern",
    });
  }
  const ignoreCase = checkBoolean(`${LAYER}.ignoreCase`, options.ignoreCase ?? true);
  const wholeWord = checkBoolean(`${LAYER}.wholeWords`, options.wholeWords ?? true);
  const words: Detector[] = [];
  const patterns: LinearPattern[] = [];
  for (const [at, item] of (blocked as readonly unknown[]).entries()) {
    if (isLinearPattern(item)) patterns.push(item);
    else words.push(literal({ kind: "a blocked word", text: checkBlocked(at, item), ignoreCase, wholeWord }));
  }
  const replace = (kind: string): never => {
    throw new Blocked(kind);
  };
  const makeFilter = (): TextFilter => {
    const scanner = createScanner({ detectors: words, replace });
    if (patterns.length === 0) return scanner;
    const lines = lineFilter((line) => {
      const found = patterns.find((pattern) => pattern.ranges(line).length > 0);
      return found === undefined ? line : replace(found.name);
    });
    return chainFilters(lines, scanner);
  };
  return {
    makeFilter,
    sides: checkWord(`${LAYER}.sides`, options.sides ?? "both", ["input", "output", "both"]),
    onError: checkOnError(`${LAYER}.onError`, options.onError),
  };
}

function checkBlocked(at: number, item: unknown): string {
  if (typeof item === "string" && item.trim() !== "" && item.length <= 1_024) return item;
  const expected = "a word or phrase of up to 1,024 characters, or a pattern made with linearPattern";
  throw new InvalidValueError({
    field: `${LAYER}.blocked[${at}]`,
    value: item instanceof RegExp ? String(item) : item,
    expected,
  });
}
