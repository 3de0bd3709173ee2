import {
  type ChatContext,
  type ChatMessage,
  checkBoolean,
  checkFields,
  InvalidValueError,
  textOf,
} from "@ravi/kernel";
import { checkOnError, enforce, type OnGuardError, trip } from "../guard.ts";
import { checkWord } from "../common/options.ts";
import { BlockedError, blockingFilters, firstBlocked, type MakeFilter } from "../text/clean/blocked.ts";
import { reasoningOf } from "../text/clean/messages.ts";
import { readJson } from "../text/scan/escapes.ts";
import type { TextFilter } from "../text/filter.ts";
import { isLinearPattern, type LinearPattern } from "../text/linear-pattern.ts";
import { type FilterStream, filterStream, watchStream } from "../text/clean/stream.ts";
import { viewFilter } from "../text/clean/view.ts";
import type { ChatMiddleware } from "../types.ts";

export interface ContentFilterOptions {
  /** Words and phrases, or expressions made with `await linearPattern(…)`. */
  readonly blocked: readonly (string | LinearPattern)[];
  /** Whether requests, answers or both are checked. Default: "both". */
  readonly sides?: "input" | "output" | "both" | undefined;
  /** Default: true. */
  readonly ignoreCase?: boolean | undefined;
  /**
   * Whether a word counts only if it stands alone (`ass` does not match `class`), in scripts that separate words. Default: true.
   */
  readonly wholeWords?: boolean | undefined;
  /** What happens if the filter itself fails. Default: "block". */
  readonly onError?: OnGuardError | undefined;
}

const LAYER = "contentFilter";

/**
 * Stops the run with a `MiddlewareTermination` if a blocked word is in a request or an answer. A streamed answer is stopped
 * before the word is delivered.
 */
export function contentFilter(options: ContentFilterOptions): ChatMiddleware {
  const { makeFilter, sides, onError } = checked(options);
  const streams = new WeakMap<ChatContext, FilterStream>();
  const check = (context: ChatContext, what: string, texts: () => readonly string[]): unknown =>
    enforce({ layer: LAYER, context, onError }, () => {
      for (const text of texts()) {
        const word = firstBlocked(makeFilter, text);
        if (word !== undefined) return `the ${what} contains ${word}`;
      }
      return undefined;
    });
  return {
    level: "chat",
    name: LAYER,
    async process(context, next) {
      // System messages are your own text and may name what is forbidden.
      if (sides !== "output")
        await check(context, "request", () =>
          context.request.messages.filter(({ role }) => role !== "system").flatMap(textsOf),
        );
      if (sides === "input") return next();
      watchStream(streams, context, () => stoppingStream(context, makeFilter, onError));
      await next();
      const { result } = context;
      if (result !== undefined) await check(context, "answer", () => textsOf(result.message));
      return undefined;
    },
  };
}

/** The texts that are also streamed separately: the text, the reasoning, and the arguments of each call. */
function textsOf(message: ChatMessage): string[] {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  // Complete arguments are decoded first; if they are not JSON they stay as they are.
  return [textOf(message), reasoningOf(message), ...calls.map((call) => readJson(call.arguments, true).text)];
}

function stoppingStream(context: ChatContext, makeFilter: MakeFilter, onError: OnGuardError): FilterStream {
  let isStopped = false;
  const stopUnlessAllowed = (error: unknown): void => {
    const isBlocked = error instanceof BlockedError;
    if (!isBlocked && onError === "allow") return;
    isStopped = true;
    trip(
      context,
      LAYER,
      isBlocked ? `the answer contains ${error.message}` : "the guard itself failed",
      error,
    );
  };
  const stream = filterStream({
    filter: (json) =>
      untilBroken(json ? viewFilter(readJson, makeFilter(false)) : makeFilter(false), stopUnlessAllowed),
    response: (response) => response,
  });
  const reset = (): void => {
    isStopped = false;
    stream.reset();
  };
  return {
    push: (event) => stream.push(event),
    // After a stop the rest is dropped. Checked again, it would be stopped and reported a second time.
    flush() {
      if (!isStopped) return stream.flush();
      reset();
      return [];
    },
    reset,
  };
}

/** Wraps a filter that changes nothing. If it throws, `onBroken` either throws as well, or the rest passes unchecked. */
function untilBroken(filter: TextFilter, onBroken: (error: unknown) => void): TextFilter {
  let held = "";
  let isBroken = false;
  const take = (text: string, step: () => string): string => {
    held += text;
    let end = held.length;
    try {
      // The filter changes nothing, so the length of its output says how much input it has let pass.
      if (!isBroken) end = step().length;
    } catch (error) {
      onBroken(error);
      isBroken = true;
    }
    const out = held.slice(0, end);
    held = held.slice(end);
    return out;
  };
  return {
    push: (text) => take(text, () => filter.push(text)),
    end: () => take("", () => filter.end()),
  };
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
      expected: "an array of at least one word or pattern",
    });
  }
  const ignoreCase = checkBoolean(`${LAYER}.ignoreCase`, options.ignoreCase ?? true);
  const wholeWord = checkBoolean(`${LAYER}.wholeWords`, options.wholeWords ?? true);
  const words: string[] = [];
  const patterns: LinearPattern[] = [];
  for (const [at, item] of (blocked as readonly unknown[]).entries()) {
    if (isLinearPattern(item)) patterns.push(item);
    else words.push(checkBlockedWord(at, item));
  }
  return {
    makeFilter: blockingFilters({ words, patterns, ignoreCase, wholeWord }),
    sides: checkWord(`${LAYER}.sides`, options.sides ?? "both", ["input", "output", "both"]),
    onError: checkOnError(`${LAYER}.onError`, options.onError),
  };
}

function checkBlockedWord(at: number, item: unknown): string {
  if (typeof item === "string" && item.trim() !== "" && item.length <= 1_024) return item;
  const expected = "a word or phrase of up to 1,024 characters, or a pattern made with linearPattern";
  throw new InvalidValueError({
    field: `${LAYER}.blocked[${at}]`,
    value: item instanceof RegExp ? String(item) : item,
    expected,
  });
}
