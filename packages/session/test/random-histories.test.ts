import { type ChatMessage, ProviderError } from "@ravi/kernel";
import {
  defineExtension,
  FileSessionStore,
  SessionAgent,
  type SessionEventName,
  type SessionStore,
} from "@ravi/session";
import { type Answer, scriptedModel } from "@ravi/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FakeDisk } from "./fake-disk.ts";
import { problemWith } from "./prompt-check.ts";
import { EVENTS, session, tool } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] === undefined ? 150 : 20_000;

it("a call that was announced and did not come leaves one answer in the history, not two", async () => {
  const model = scriptedModel([{ text: "Let me look.", finishReason: "toolCalls" }, "Here it is.", "Next."]);
  const agent = session({ model });
  expect((await agent.invoke("x")).output).toBe("Here it is.");
  await agent.invoke("y");
  expect(problemWith(model.calls[2]?.request.messages ?? [])).toBeUndefined();
});

/** What a model does when it is asked the nth time. */
const ANSWERS = {
  text: "answer",
  tools: {
    text: "",
    toolCalls: [
      { name: "work", arguments: {}, id: "x" },
      { name: "work", arguments: {}, id: "x" },
    ],
  },
  said: { text: "I call.", toolCalls: [{ name: "work", arguments: {}, id: "" }] },
  unknown: { text: "", toolCalls: [{ name: "nothing", arguments: "{broken", id: "y" }] },
  empty: { text: "  " },
  lost: { text: "I will call.", finishReason: "toolCalls" },
  cut: { text: "half an ans", finishReason: "length" },
  cutCall: { text: "", toolCalls: [{ name: "work", arguments: '{"a":', id: "z" }], finishReason: "length" },
  refused: { text: "No.", finishReason: "refused" },
  filtered: { text: "", finishReason: "filtered" },
  overloaded: "overloaded",
  overflow: "overflow",
  broken: { text: "half of a stre", fault: { type: "cut", afterDeltas: 1 } },
} as const;
type Kind = keyof typeof ANSWERS;

interface Turn {
  readonly do: "turn";
  readonly answers: readonly Kind[];
  readonly abortAt: SessionEventName | null;
  readonly nth: number;
  readonly steer: boolean;
}
type Step =
  | Turn
  | { readonly do: "fork"; readonly at: number; readonly copy: boolean }
  | { readonly do: "compact"; readonly from: number; readonly to: number }
  | { readonly do: "context"; readonly drop: number }
  | { readonly do: "crash"; readonly after: number };

const turn: fc.Arbitrary<Turn> = fc.record({
  do: fc.constant("turn" as const),
  answers: fc.array(fc.constantFrom(...(Object.keys(ANSWERS) as Kind[])), { maxLength: 5 }),
  abortAt: fc.option(fc.constantFrom(...EVENTS), { freq: 2 }),
  nth: fc.integer({ min: 1, max: 4 }),
  steer: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: turn },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("fork" as const), at: fc.nat(50), copy: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("compact" as const), from: fc.nat(6), to: fc.nat(6) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("context" as const), drop: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), after: fc.nat(60) }) },
);

/** Plays a conversation; a prompt that the strictest provider would refuse is thrown. */
async function play(seed: number, steps: readonly Step[], check = problemWith): Promise<void> {
  let state = seed;
  const random = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const disk = new FakeDisk({ random });
  const storeOf = (generation: number): SessionStore => {
    const me = `process ${generation}`;
    return new FileSessionStore("/s", { files: disk, liveness: { me, isGone: (owner) => owner !== me } });
  };
  let queue: Kind[] = [];
  let slice = { from: 0, to: 0 };
  let drop = 0;
  let abortAt: { readonly event: SessionEventName; left: number } | undefined;
  let problem: string | undefined;
  let done = 0;
  const model = scriptedModel(
    ({ messages }): Answer | Error => {
      problem ??= check(messages);
      const role = messages.at(-1)?.role;
      if (role !== "user" && role !== "tool") problem ??= `nothing to answer, after ${role}`;
      const kind = queue.shift() ?? "text";
      if (kind === "overloaded")
        return new ProviderError({ kind: "OVERLOADED", provider: "p", message: "busy" });
      if (kind === "overflow")
        return new ProviderError({ kind: "CONTEXT_OVERFLOW", provider: "p", message: "long" });
      return ANSWERS[kind];
    },
    { record: false },
  );
  const shaper = defineExtension({
    name: "shaper",
    on: Object.fromEntries(
      EVENTS.map((event) => [
        event,
        () => {
          if (abortAt?.event !== event || --abortAt.left > 0) return undefined;
          abortAt = undefined;
          agent.abort();
          return new Promise(() => {});
        },
      ]),
    ),
  });
  const dropper = defineExtension({
    name: "dropper",
    on: {
      context: ({ messages }) =>
        drop === 0 ? undefined : { messages: messages.slice(Math.min(drop, messages.length - 1)) },
    },
  });
  const make = (generation: number): SessionAgent =>
    new SessionAgent({
      model,
      store: storeOf(generation),
      sessionId: "s",
      secrets: [],
      retry: { maxRetries: 2, baseDelayMs: 0 },
      maxSteps: 6,
      tools: [tool("work", () => `did ${++done}`)],
      extensions: [shaper, dropper],
      compaction: {
        compact: (messages: readonly ChatMessage[]) => messages.slice(slice.from, -slice.to || undefined),
      },
    });
  let generation = 0;
  let agent = make(generation);
  for (const now of steps) {
    drop = 0;
    const work = async (): Promise<unknown> => {
      if (now.do === "turn") {
        queue = [...now.answers];
        abortAt = now.abortAt === null ? undefined : { event: now.abortAt, left: now.nth };
        const running = agent.invoke("go");
        if (now.steer) agent.steer("and this");
        return running;
      }
      if (now.do === "fork") {
        const path = (await agent.open()).path();
        const entry = path[now.at % Math.max(1, path.length)];
        return entry && agent.fork(entry.id, { newSession: now.copy });
      }
      if (now.do === "compact") {
        slice = now;
        return agent.runCompaction();
      }
      if (now.do === "context") {
        drop = now.drop;
        return agent.invoke("go");
      }
      disk.dieAfter(now.after);
      queue = ["tools"];
      await agent.invoke("the last words").catch(() => undefined);
      disk.crash();
      agent = make(++generation);
      return undefined;
    };
    await work().catch((error: unknown) => {
      if (!/busy|long|cancelled|EIO|could not|ended|cut|broke|refused|filtered|stream/i.test(String(error)))
        throw error;
    });
    abortAt = undefined;
    queue = [];
    if (!agent.isIdle()) throw new Error("it is not idle");
    problem ??= check(await (await agent.open()).messages());
    if (problem !== undefined) throw new Error(`not a prompt: ${problem}`);
  }
  await agent.shutdown();
}

it("T7, O4: after any mix of aborts, retries, overflows, odd answers, forks, compactions and crashes, every prompt is one that the strictest provider takes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(step, { minLength: 1, maxLength: 8 }), (seed, steps) =>
      play(seed, steps),
    ),
    { numRuns: RUNS },
  );
}, 3_600_000);

it("T7: that check bites: one that knows no two users in a row fails", async () => {
  const stricter = (messages: readonly ChatMessage[]): string | undefined =>
    messages.some((message, at) => message.role === "user" && messages[at - 1]?.role === "user")
      ? "two of the user's in a row"
      : problemWith(messages);
  const property = fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 8 }), (seed, steps) =>
    play(seed, steps, stricter),
  );
  expect((await fc.check(property, { numRuns: 100, seed: 1 })).failed).toBe(true);
});
