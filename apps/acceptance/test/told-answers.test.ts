import {
  type ChatContext,
  type Layer,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  NO_USAGE,
  ProviderError,
  type RunEvent,
  textOf,
} from "@ravi/kernel";
import {
  cache,
  contentFilter,
  fallback,
  llmJudge,
  maxTokens,
  MiddlewarePipeline,
  piiRedaction,
  retry,
  timeout,
} from "@ravi/middleware";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { agent, done } from "../src/leading.ts";

// Whoever shows what agents say reads `text` events, and starts over at `answerRestarted`. What is shown in the end has to be the
// answer, whichever layers are around a model, in whichever order, and however often it fails on the way.

/** One attempt at an answer. */
interface Act {
  readonly pieces: readonly string[];
  readonly hasThought: boolean;
  readonly hasCall: boolean;
  readonly isStreamed: boolean;
  /** After how many deltas it fails; undefined if it does not. */
  readonly failsAfter: number | undefined;
  /** Whether each piece is a part of its own. */
  readonly isInParts: boolean;
}

const WHOLE: Act = {
  pieces: [],
  hasThought: false,
  hasCall: false,
  isStreamed: true,
  failsAfter: undefined,
  isInParts: false,
};

const SECRET = "ada@example.org";
const pieces = fc.array(fc.constantFrom("one ", "two", "\n", "ada@", "example", ".org ", SECRET, "", "x"), {
  maxLength: 5,
});
const act: fc.Arbitrary<Act> = fc.record({
  pieces,
  hasThought: fc.boolean(),
  hasCall: fc.boolean(),
  isStreamed: fc.boolean(),
  failsAfter: fc.option(fc.nat(4), { nil: undefined, freq: 2 }),
  isInParts: fc.boolean(),
});

function responseOf({ pieces: said, hasThought, hasCall, isInParts }: Act): ModelResponse {
  const text = said.join("");
  const thought = { type: "reasoning", text: "hm" } as const;
  const texts = (isInParts ? said : [text]).map((words) => ({ type: "text", text: words }) as const);
  const parts = [...(hasThought ? [thought] : []), ...texts];
  return {
    message: {
      role: "assistant",
      content: hasThought || isInParts ? parts : text,
      ...(hasCall && { toolCalls: [{ id: "c1", name: "look", arguments: "{}" }] }),
    },
    finishReason: hasCall ? "toolCalls" : "stop",
    usage: NO_USAGE,
  };
}

function deltasOf({ pieces: said, hasThought, hasCall }: Act): readonly ModelEvent[] {
  return [
    ...(hasThought ? [{ type: "reasoning", delta: "hm" } as const] : []),
    ...said.map((delta) => ({ type: "text", delta }) as const),
    ...(hasCall ? [{ type: "toolCall", index: 0, id: "c1", name: "look", delta: "{}" } as const] : []),
  ];
}

const busy = (): Error => new ProviderError({ kind: "OVERLOADED", message: "busy" });

/** A model that acts once for each call, and answers plainly after its last act. */
function acting(name: string, acts: readonly Act[], canStream: boolean): LLMClient {
  const left = [...acts];
  const next = (): Act => left.shift() ?? { ...WHOLE, pieces: [`${name} at `, "last"] };
  return {
    id: name,
    info: { provider: "test", model: name },
    async generate() {
      const now = next();
      if (now.failsAfter !== undefined) throw busy();
      return responseOf(now);
    },
    ...(canStream && {
      async *stream() {
        const now = next();
        const deltas = now.isStreamed ? deltasOf(now) : [];
        yield* deltas.slice(0, now.failsAfter);
        if (now.failsAfter !== undefined) throw busy();
        yield { type: "finish", response: responseOf(now) };
      },
    }),
  };
}

const allowing = (): LLMClient => scriptedModel(() => '{"allow":true,"reason":"fine"}');

/** A layer, given a model to fall back on. */
const LAYERS: Readonly<Record<string, (spare: LLMClient) => Layer<ChatContext>>> = {
  retry: () => retry({ baseMs: 0, maxRetries: 2 }),
  fallback: (spare) => fallback({ models: [spare] }),
  cache: () => cache(),
  sharing: () => cache({ shareInFlight: true }),
  redaction: () => piiRedaction(),
  filter: () => contentFilter({ blocked: ["forbidden"] }),
  judge: () => llmJudge({ model: allowing(), criteria: "anything" }),
  timeout: () => timeout(),
  maxTokens: () => maxTokens({ maxOutputTokens: 100 }),
  rescue: () => async (context, next) => {
    await next().catch(() => {
      context.result = plainly("rescued");
    });
  },
  rewrite: () => async (context, next) => {
    await next();
    if (context.result !== undefined) context.result = plainly("rewritten");
  },
  empty: () => async (context, next) => {
    await next();
    context.result = plainly("");
  },
  twice: () => async (_, next) => {
    await next();
    await next.again();
  },
};

function plainly(text: string): ModelResponse {
  return { message: { role: "assistant", content: text }, finishReason: "stop", usage: NO_USAGE };
}

const ASK: ModelRequest = { messages: [{ role: "user", content: "go" }] };

interface Shown {
  readonly shown: string;
  /** Undefined if the call failed. */
  readonly said: string | undefined;
  readonly all: string;
}

/** What somebody who shows a run has at the end of each call, the text of its answer, and everything that was shown meanwhile. */
async function shownAndSaid(
  models: readonly LLMClient[],
  layers: readonly Layer<ChatContext>[],
  isDurable: boolean,
): Promise<readonly Shown[]> {
  const ends: Shown[] = [];
  let shown = "";
  let all = "";
  const onEvent = ({ event }: RunEvent): void => {
    if (event.type !== "text") all += "|";
    else {
      shown += event.delta;
      all += event.delta;
    }
    if (event.type === "progress" && event.name === "answerRestarted") shown = "";
  };
  const teller = agent("teller", async (ctx) => {
    for (const model of models) {
      shown = "";
      all = "";
      const response = await ctx.llm(model, ASK).catch(() => undefined);
      ends.push({ shown, said: response && textOf(response.message), all });
    }
    return done("");
  });
  const runtime = new Runtime({
    ...(isDurable && { journal: new MemoryJournal() }),
    pipelines: { chat: new MiddlewarePipeline(layers, { level: "chat" }) },
  });
  expect((await runtime.run(teller, "", { onEvent }).result).status).toBe("completed");
  return ends;
}

const scene = fc.record({
  acts: fc.array(act, { maxLength: 4 }),
  spareActs: fc.array(act, { maxLength: 3 }),
  canStream: fc.boolean(),
  canSpareStream: fc.boolean(),
  names: fc.shuffledSubarray(Object.keys(LAYERS), { maxLength: 5 }),
  isDurable: fc.boolean(),
});

/** A cache must be inside of every redactor. */
function inOrder(names: readonly string[]): readonly string[] {
  const isCache = (name: string): boolean => name === "cache" || name === "sharing";
  const redaction = names.indexOf("redaction");
  if (redaction < 0) return names;
  const before = names.slice(0, redaction);
  return [
    ...before.filter((name) => !isCache(name)),
    "redaction",
    ...before.filter(isCache),
    ...names.slice(redaction + 1),
  ];
}

describe("R10: what observers are shown of a call is its answer in the end", () => {
  test("through any layers, in any order, around models that stream, fail or do neither", async () => {
    await fc.assert(
      fc.asyncProperty(scene, async ({ acts, spareActs, canStream, canSpareStream, names, isDurable }) => {
        const spare = acting("spare", spareActs, canSpareStream);
        const layers = inOrder(names).flatMap((name) => LAYERS[name]?.(spare) ?? []);
        const model = acting("own", acts, canStream);
        for (const { shown, said, all } of await shownAndSaid([model, model], layers, isDurable)) {
          expect(shown).toBe(said ?? shown);
          if (names.includes("redaction")) expect(all).not.toContain(SECRET);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("that of a spare model from the cache, after the first one broke off", async () => {
    const cut: Act = { ...WHOLE, pieces: ["first half"], failsAfter: 1 };
    const spare = acting("spare", [], true);
    const layers = [fallback({ models: [spare] }), cache()];
    const ends = await shownAndSaid([acting("own", [cut], true)], layers, false);
    const again = await shownAndSaid([acting("own", [cut], true)], layers, false);
    const shown = { shown: "spare at last", said: "spare at last" };
    expect([...ends, ...again]).toMatchObject([shown, shown]);
  });

  test("and nothing of what a judge refuses, wherever it is among other layers", async () => {
    const refusing = llmJudge({
      model: scriptedModel(() => '{"allow":false,"reason":"no"}'),
      criteria: "nothing",
    });
    await fc.assert(
      fc.asyncProperty(scene, fc.nat(5), async (given, at) => {
        const { acts, spareActs, canStream, canSpareStream, names, isDurable } = given;
        const spare = acting("spare", spareActs, canSpareStream);
        const layers = inOrder(names).flatMap((name) => LAYERS[name]?.(spare) ?? []);
        const judged = layers.toSpliced(at, 0, refusing);
        const model = acting("own", acts, canStream);
        for (const { all } of await shownAndSaid([model, model], judged, isDurable))
          expect(all.replaceAll(/rescued|rewritten|\|/g, "")).toBe("");
      }),
      { numRuns: 200 },
    );
  });
});
