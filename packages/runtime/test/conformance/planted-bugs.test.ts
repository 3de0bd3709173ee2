import { expect, test } from "vitest";
import { HookEvent, NO_HOOKS, type RootHandle } from "@ravi/kernel";
import {
  assertRuntimeCase,
  type RuntimeHouse,
  runtimeCases,
  type RuntimeUnderTest,
} from "@ravi/testing/suites";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { FakeHeadcount, FakeLedger } from "../support/helpers.ts";
import { house } from "./house.ts";
import { SeatedHeadcount } from "./seated-headcount.ts";

// The suite must bite: a runtime with one thing wrong fails the case that is about it.

const caps = {
  headcount: (root: ConstructorParameters<typeof SeatedHeadcount>[0]) => new SeatedHeadcount(root),
  ledger: (root: { readonly executionBudget: object }) => new FakeLedger(root.executionBudget),
};

function good(): RuntimeHouse {
  return house((clock) => new MemoryJournal({ clock }));
}

function changed(change: (runtime: RuntimeUnderTest) => Partial<RuntimeUnderTest>): RuntimeHouse {
  const inner = good();
  const real = new WeakMap<RuntimeUnderTest, RuntimeUnderTest>();
  return {
    ...inner,
    async create(setup) {
      const runtime = await inner.create(setup);
      const bent = new Proxy(runtime, {
        get(target, name) {
          const own: unknown = Reflect.get(change(target), name);
          const value: unknown = own ?? Reflect.get(target, name);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
      real.set(bent, runtime);
      return bent;
    },
    crash: (runtime) => inner.crash(real.get(runtime) ?? runtime),
  };
}

function withResult(handle: RootHandle, more: object): RootHandle {
  return {
    ...handle,
    status: handle.status,
    agentId: handle.agentId,
    result: handle.result.then((result) => ({ ...result, ...more })),
  };
}

const PLANTED: readonly [
  bug: string,
  caught: string,
  open: () => RuntimeHouse,
  own?: Partial<typeof caps>,
][] = [
  [
    "a crash that forgets",
    "a run that died goes on",
    () => {
      let current = good();
      return {
        create: (setup) => current.create(setup),
        crash: () => void (current = good()),
        close: () => current.close(),
      };
    },
  ],
  [
    "a delivery that is dropped when nobody waits",
    "what is delivered before",
    () =>
      changed((runtime) => ({
        deliver: async (runId, name, value) => {
          if (name !== "other") await runtime.deliver(runId, name, value);
          else await runtime.cancel(runId, "nobody waits for it");
        },
      })),
  ],
  [
    "calls in doubt that are not reported",
    "an idempotent call that was in flight",
    () =>
      changed((runtime) => ({
        resume: (runId, options) => withResult(runtime.resume(runId, options), { inDoubt: [] }),
      })),
  ],
  [
    "a list without versions",
    "a run that is over is listed",
    () =>
      changed((runtime) => ({
        list: async () => (await runtime.list()).map((run) => ({ ...run, agent: "once" })),
      })),
  ],
  [
    "an onEvent that is told too late",
    "onEvent is called with each event",
    () =>
      changed((runtime) => ({
        run: (agent, input, { onEvent, ...options } = {}) => {
          const handle = runtime.run(agent, input, options);
          const tell = async () => {
            await handle.result;
            for await (const event of handle.events()) onEvent?.(event);
          };
          tell().catch(() => {});
          return handle;
        },
      })),
  ],
  [
    "an onEvent that a resumed run forgets",
    "that of a resumed run hears",
    () => changed((runtime) => ({ resume: (runId) => runtime.resume(runId) })),
  ],
  [
    "a prune that does nothing",
    "a run that has ended is pruned",
    () => changed(() => ({ prune: async () => [] })),
  ],
  [
    "a message that is sent twice",
    "messages to an agent at work are read",
    () => changed((runtime) => ({ send: async (runId, message) => runtime.send?.(runId, message) })),
  ],
  [
    "a message that is sent to nobody",
    "a message to a child or a run that has ended",
    () => changed((runtime) => ({ send: async (...sent) => runtime.send?.(...sent).catch(() => {}) })),
  ],
  [
    "observers who are told of the root alone",
    "observers are told what each agent",
    () =>
      changed((runtime) => ({
        run: (...asked) => {
          const handle = runtime.run(...asked);
          const events = async function* () {
            for await (const event of handle.events()) if (event.execId === handle.execId) yield event;
          };
          return { ...handle, status: handle.status, agentId: handle.agentId, events };
        },
      })),
  ],
  [
    "a result that does not say which limit has stopped it",
    "a result says what its run has used",
    () =>
      changed((runtime) => ({
        run: (...asked) => withResult(runtime.run(...asked), { stoppedBy: undefined }),
      })),
  ],
  [
    "a result that is twice as dear",
    "a result says what its run has used",
    () => changed((runtime) => ({ run: (...asked) => withResult(runtime.run(...asked), { cost: 2 }) })),
  ],
  [
    "a delivery that takes false for nothing",
    "what is delivered arrives as it is",
    () =>
      changed((runtime) => ({
        deliver: (runId, name, value) => runtime.deliver(runId, name, value === false ? null : value),
      })),
  ],
  [
    "a close that does not drain",
    "close with drain waits",
    () => changed((runtime) => ({ close: () => runtime.close() })),
  ],
  [
    "a cancel of nobody that says nothing",
    "whoever cancels a run that does not exist",
    () => changed((runtime) => ({ cancel: (...asked) => runtime.cancel(...asked).catch(() => {}) })),
  ],
  [
    "hooks that nobody tells of tools",
    "hooks are told of a run",
    () => {
      const inner = good();
      return {
        ...inner,
        create: (setup) => {
          const { hooks = NO_HOOKS } = setup;
          const has: typeof hooks.has = (event) => event !== HookEvent.TOOL_END && hooks.has(event);
          return inner.create({ ...setup, hooks: { ...hooks, has } });
        },
      };
    },
  ],
  [
    "a headcount that lets everybody in",
    "never more agents",
    good,
    { headcount: () => new FakeHeadcount() as never },
  ],
  [
    "a ledger that counts nothing",
    "what was spent before a crash",
    good,
    { ledger: () => new FakeLedger({ maxTurns: 40 }) },
  ],
];

test.each(PLANTED)('R24: %s is caught by the case "%s"', async (_, caught, open, own = {}) => {
  const each = runtimeCases.find(({ says }) => says.startsWith(caught));
  if (each === undefined) throw new Error(`no case says "${caught}"`);
  await expect(assertRuntimeCase(each, open, { ...caps, ...own })).rejects.toBeInstanceOf(Error);
  await assertRuntimeCase(each, good, caps);
});
