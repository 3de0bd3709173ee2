import type { Agent, Leaf, RunContext } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import {
  assertRuntimeCase,
  type RuntimeHouse,
  type RuntimeSetup,
  type RuntimeUnderTest,
  runtimeCases,
} from "@ravi/testing/suites";
import { expect, test } from "vitest";
import { caps, house } from "./support/house.ts";

// A suite that passes with a wrong runtime is worse than none: each of these is right but for one fault, which the suite must find.

interface Fault {
  /** The setup that the runtime gets instead of the given one. */
  readonly setup?: (setup: RuntimeSetup) => RuntimeSetup;
  /** What an agent's context does instead. */
  readonly context?: (ctx: RunContext) => Partial<RunContext>;
  readonly runtime?: (runtime: RuntimeUnderTest) => Partial<RuntimeUnderTest>;
}

/** The same object with some members replaced. The others run on the object itself. */
function instead<T extends object>(whole: T, replaced: Partial<T>): T {
  return new Proxy(whole, {
    get(target, name): unknown {
      if (Object.hasOwn(replaced, name)) return Reflect.get(replaced, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function faulty(agent: Agent, { context }: Fault): Agent {
  if (context === undefined) return agent;
  return { ...agent, run: (ctx, inbox) => agent.run(instead(ctx, context(ctx)), inbox) };
}

function faultyHouse(fault: Fault): RuntimeHouse {
  return house({
    open: (clock) => new MemoryJournal({ clock }),
    create(given, own) {
      const known = new Map(given.agents.map((agent) => [agent, faulty(agent, fault)]));
      const setup = fault.setup?.(given) ?? given;
      const right = new Runtime({ ...setup, agents: [...known.values()], ...own });
      return instead<RuntimeUnderTest>(right, {
        run: (agent, input, options) => right.run(known.get(agent) ?? agent, input, options),
        ...fault.runtime?.(right),
      });
    },
  });
}

const FAULTS: readonly (readonly [fault: string, caughtBy: string, Fault])[] = [
  [
    "gives another random number after a crash",
    "a run that died goes on from its record",
    { context: () => ({ random: () => Math.random() }) },
  ],
  [
    "answers the calls of a batch as they come in",
    "the outcomes of a batch are in the order asked",
    {
      context: (ctx) => ({
        async batch(leaves: readonly Leaf[]) {
          const outcomes = await ctx.batch(leaves);
          return outcomes.toReversed() as never;
        },
      }),
    },
  ],
  [
    "forgets the structured result of a run that is over",
    "a run that is over is listed, gives its result again",
    {
      runtime: (right) => ({
        resume(runId, options) {
          const handle = right.resume(runId, options);
          const result = handle.result.then((given) => ({ ...given, structured: undefined }));
          return instead(handle, { result });
        },
      }),
    },
  ],
  [
    "tells what a quiet call answers",
    "the answer of a quiet call is the agent's alone",
    { context: (ctx) => ({ llm: (model, request) => ctx.llm(model, request) }) },
  ],
  [
    "forgets what came with the input of a run",
    "pictures and files come with the input",
    {
      runtime: (right) => ({
        run: (agent, input, options) => right.run(agent, input, { ...options, attachments: undefined }),
      }),
    },
  ],
  [
    "makes a call again that had failed",
    "what had failed before a crash has failed after it",
    {
      context: (ctx) => ({
        async tool(call, tool) {
          const result = await ctx.tool(call, tool);
          if (!result.isError) return result;
          const value = await tool.execute({}, {} as never);
          return { content: String(value), isError: false, value };
        },
      }),
    },
  ],
  [
    "keeps the seat of whoever has failed",
    "a seat is free again, however its holder has ended",
    {
      setup: (setup) => ({
        ...setup,
        headcount: (root) => {
          const seats = caps.headcount(root);
          let taken = 0;
          return instead(seats, {
            async acquire(agentId, priority, options) {
              const lease = await seats.acquire(agentId, priority, { ...options, onFull: "deny" });
              return ++taken === 1 ? instead(lease, { release: () => {} }) : lease;
            },
          });
        },
      }),
    },
  ],
];

test.each(FAULTS)("a runtime that %s fails the case about it", async (_, caughtBy, fault) => {
  const found = runtimeCases.filter(({ says }) => says.includes(caughtBy));
  expect(found).toHaveLength(1);
  for (const each of found) {
    await assertRuntimeCase(each, () => faultyHouse({}), caps);
    await expect(assertRuntimeCase(each, () => faultyHouse(fault), caps)).rejects.toMatchObject({
      // Any other error would mean that the planted runtime breaks, not that the case looks at what it does.
      name: "AssertionError",
    });
  }
});
