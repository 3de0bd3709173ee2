import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import * as z from "zod";
import {
  type Agent,
  type AgentRunContext,
  type ChatContext,
  type ChatMessage,
  defineTool,
  type Hooks,
  type JsonValue,
  type Ledger,
  type ModelRequest,
  type PermissionDecision,
  type Permissions,
  type Pipeline,
  type RunContext,
  type RunEvent,
  RunId,
  type Tool,
  type ToolLeaf,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { Keys } from "../../src/context/keys.ts";
import { Requests } from "../../src/context/requests.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, turns } from "./helpers.ts";
import { said, thenable } from "./open-house.ts";

const RUN = RunId("r1");
const info = { provider: "x", model: "m" };
const model = { id: "m", info, generate: async () => said("fine") };

/** Runs it once, and again after a crash at each of its entries: it comes to the same each time, and is recorded the same. */
async function sameAfterEveryCrash(lead: Agent): Promise<readonly string[]> {
  const journal = new MemoryJournal();
  const first = await new Runtime({ journal }).run(lead, "", { runId: RUN }).result;
  expect(first.status).toBe("completed");
  const records = journal.load(RUN);
  const steps = (all: typeof records): unknown[] =>
    all
      .filter(({ key, phase, attempt }) => !key.startsWith("run:") && (phase !== "begin" || attempt === 1))
      .map(({ key, phase, body }) => [key, phase, body["fingerprint"]]);
  for (let at = 1; at < records.length; at++) {
    const left = cut(RUN, records.slice(0, at));
    const { status, output } = await new Runtime({ journal: left, agents: [lead] }).resume(RUN).result;
    expect({ at, status, output }).toEqual({ at, status: "completed", output: first.output });
    expect(steps(left.load(RUN))).toEqual(steps(records));
  }
  return records.map(({ key, phase }) => `${phase} ${key}`);
}

/** What a program that was not compiled may pass. */
function untyped(value: object): ChatMessage {
  return value as ChatMessage;
}

function said10(name: string): ChatMessage[] {
  return Array.from({ length: 10 }, (_, n) => ({
    role: "user",
    content: `${name} ${n} ${"x".repeat(n * 40)}`,
  }));
}

describe("review: requests of one execution", () => {
  const talks: [string, (ctx: RunContext) => AsyncGenerator<ModelRequest>][] = [
    [
      "two long lists in turns, both growing",
      async function* () {
        const lists = [said10("a"), said10("b")];
        for (let turn = 0; turn < 3; turn++) {
          for (const messages of lists) {
            yield Object.freeze({ messages, temperature: turn });
            messages.push({ role: "assistant", content: `said in ${turn}` });
          }
        }
      },
    ],
    [
      "a list that is cut, and grows again",
      async function* () {
        const messages = said10("a");
        const request = Object.freeze({ messages });
        yield request;
        messages.length = 3;
        yield request;
        messages.push({ role: "user", content: "other words" });
        yield request;
      },
    ],
    [
      "a short list between two calls over a long one",
      async function* () {
        const messages = said10("a");
        yield { messages };
        yield ask("short");
        messages.push({ role: "user", content: "more" });
        yield { messages };
      },
    ],
    [
      "one request that is not frozen, and changes",
      async function* () {
        const request = { messages: said10("a"), temperature: 0 };
        yield request;
        request.temperature = 1;
        yield request;
      },
    ],
  ];

  test.each(talks)("R24: %s: after a crash at any entry the run goes on", async (_, talk) => {
    const lead = agent("lead", async (ctx) => {
      let count = 0;
      for await (const request of talk(ctx)) {
        await ctx.llm(model, request);
        count++;
      }
      return done(String(count));
    });
    const entries = await sameAfterEveryCrash(lead);
    expect(entries.filter((entry) => entry.startsWith("end llm:m#")).length).toBeGreaterThan(1);
  });

  test("R24: what a request is called depends on what it says, and on nothing that was asked before", () => {
    const fresh = (request: ModelRequest): string => new Requests().fingerprint("m", request);
    const requests = new Requests();
    const [one, two] = [said10("a"), said10("b")];
    const tools = [{ name: "t", description: "", parameters: {} }];
    for (let turn = 0; turn < 4; turn++) {
      for (const messages of [one, two, said10("a").slice(0, turn + 1)]) {
        const plain = Object.freeze({ messages, tools });
        const warm = Object.freeze({ messages, tools, temperature: 1, topP: undefined });
        for (const request of [plain, warm, plain]) {
          const copy = { ...request, messages: structuredClone(messages) };
          expect(requests.fingerprint("m", request)).toBe(fresh(copy));
        }
        expect(requests.fingerprint("m", plain)).not.toBe(requests.fingerprint("m", warm));
        expect(requests.fingerprint("m", plain)).not.toBe(requests.fingerprint("other", plain));
        messages.push({ role: "user", content: `more ${turn}` });
      }
    }
  });

  test("R24: nor on where in a conversation it was asked for: with answers, results and long texts in any order", () => {
    const roles = ["user", "assistant", "system"] as const;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...roles), fc.constantFrom(0, 3, 600, 2_000), fc.boolean()), {
          maxLength: 30,
        }),
        (talk) => {
          const requests = new Requests();
          const messages: ChatMessage[] = [];
          const seen = new Set<string>();
          for (const [role, length, isAsked] of talk) {
            messages.push({ role, content: "x".repeat(length) });
            if (!isAsked) continue;
            const fingerprint = requests.fingerprint("m", { messages });
            expect(fingerprint).toBe(new Requests().fingerprint("m", { messages: [...messages] }));
            expect(seen.has(fingerprint)).toBe(false);
            seen.add(fingerprint);
          }
        },
      ),
    );
  });

  test("R24: nor on what was cut from its list since", () => {
    const requests = new Requests();
    const messages = said10("a");
    requests.fingerprint("m", { messages });
    messages.splice(3, 5, { role: "user", content: "instead" });
    const fresh = new Requests().fingerprint("m", { messages: structuredClone(messages) });
    expect(requests.fingerprint("m", { messages })).toBe(fresh);
  });

  test("R24: nor on what a list was before it was cut, while another was asked about", () => {
    const requests = new Requests();
    const say = (name: string, count: number): ChatMessage[] => said10(name).slice(0, count);
    const [list, other] = [said10("a"), say("o", 1)];
    const name = (messages: readonly ChatMessage[]): string => requests.fingerprint("m", { messages });
    name(list);
    name(other);
    list.splice(0, 10, ...say("b", 3));
    name(list);
    name(other);
    list.push(...say("c", 8));
    expect(name(list)).toBe(new Requests().fingerprint("m", { messages: [...list] }));
  });

  test("R24: it tells apart parameters by their names, and tools", () => {
    const messages = said10("a");
    const name = (rest: Partial<ModelRequest>): string =>
      new Requests().fingerprint("m", { messages, ...rest });
    const tool = (parameters: object) =>
      [{ name: "t", description: "", parameters }] as ModelRequest["tools"];
    const names = [
      name({}),
      name({ temperature: 1 }),
      name({ topP: 1 }),
      name({ tools: tool({}) }),
      name({ tools: tool({ type: "object" }) }),
    ];
    expect(new Set(names).size).toBe(5);
  });

  test("R24: nor on a message that could not be read before", () => {
    const requests = new Requests();
    const messages: ChatMessage[] = [{ role: "user", content: "a" }];
    requests.fingerprint("m", { messages });
    const loop: Record<string, unknown> = { role: "user", content: "b" };
    loop["self"] = loop;
    messages.push(untyped(loop));
    expect(() => requests.fingerprint("m", { messages })).toThrow(/circular/);
    messages[1] = { role: "user", content: "b" };
    expect(requests.fingerprint("m", { messages })).toBe(new Requests().fingerprint("m", { messages }));
  });

  test("R18: a request is bound to what was set aside for it, also in turns with another and at another bound", () => {
    const requests = new Requests();
    const [a, b] = [Object.freeze({ ...ask("a") }), { ...ask("b"), temperature: 0 }];
    const bounds = [a, b, a, a, b].map((request, n) => requests.bounded(request, n < 3 ? 5 : 6));
    expect(bounds.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([5, 5, 5, 6, 6]);
    expect(bounds.map(({ messages }) => messages)).toEqual([a, b, a, a, b].map(({ messages }) => messages));
    b.temperature = 1;
    expect(requests.bounded(b, 6).temperature).toBe(1);
    expect(requests.bounded({ ...a, maxOutputTokens: 1 }, 6).maxOutputTokens).toBe(1);
  });
});

describe("review: keys", () => {
  test("R24: several batches in one turn have keys of their own, and are found again after a crash at any entry", async () => {
    const echo: Tool = defineTool({
      name: "echo",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: () => "echo",
    });
    const leaf = (id: string): ToolLeaf => ({
      kind: "tool",
      call: { id, name: "echo", arguments: "{}" },
      tool: echo,
    });
    const lead = agent("lead", async (ctx) => {
      for (const turn of ["a", "b"]) {
        await ctx.llm(model, ask(turn));
        await ctx.batch([leaf(`${turn}1`), leaf(`${turn}2`)]);
        await ctx.batch([leaf(`${turn}3`)]);
        await ctx.batch([leaf(`${turn}4`), leaf(`${turn}5`)]);
        await ctx.tool(leaf(`${turn}6`).call, echo);
      }
      return done("");
    });
    const entries = await sameAfterEveryCrash(lead);
    const begun = entries.filter((entry) => entry.startsWith("begin")).map((entry) => entry.slice(6));
    const turn = (n: number): string[] => [
      `llm:m#${n}`,
      `tool:${n}:0`,
      `tool:${n}:1`,
      `tool:${n}:0#2`,
      `tool:${n}:0#3`,
      `tool:${n}:1#2`,
      `tool:echo#${n}`,
    ];
    expect(begun).toEqual([...turn(1), ...turn(2)]);
  });

  test("R24: no two keys are the same, in whatever order kinds and names come", () => {
    const keys = new Keys();
    const made = [
      ["a", "b:c"],
      ["a:b", "c"],
      ["a", "b:c"],
      ["llm", "m"],
      ["tool", "m"],
      ["llm", "m"],
      ["llm", ""],
      ["", "m"],
      ["llm", "m"],
    ].map(([kind = "", name = ""]) => keys.next(kind, name));
    expect(new Set(made).size).toBe(made.length);
    expect(made).toEqual([
      "a:b:c#1",
      "a:b:c#2",
      "a:b:c#3",
      "llm:m#1",
      "tool:m#1",
      "llm:m#2",
      "llm:#1",
      ":m#1",
      "llm:m#3",
    ]);
  });
});

const END = { value: undefined, done: true };

describe("review: observers", () => {
  const emits = agent("emits", async (ctx) => {
    for (let n = 0; n < 4; n++) {
      ctx.emit({ type: "progress", name: String(n), data: null });
      await ctx.waitFor("next");
    }
    return done("");
  });

  test("J3: who breaks off with two reads pending gets an end for both, and takes nothing from anybody else", async () => {
    const runtime = new Runtime();
    const run = runtime.run(emits, "", { runId: RUN });
    const iterator = (): AsyncIterator<RunEvent> => run.events()[Symbol.asyncIterator]();
    const [leaves, stays] = [iterator(), iterator()];
    expect([(await leaves.next()).value, (await leaves.next()).value]).toMatchObject([
      { seq: 1 },
      { seq: 2 },
    ]);
    const pending = [leaves.next(), leaves.next()];
    expect(await leaves.return?.()).toEqual(END);
    expect(await Promise.all(pending)).toEqual([END, END]);
    const late = iterator();
    await runtime.deliver(RUN, "next", null);
    expect(await late.next()).toMatchObject({ value: { seq: 3 } });
    expect(await leaves.next()).toEqual(END);
    const seen = [await stays.next(), await stays.next(), await stays.next()];
    expect(seen).toMatchObject([{ value: { seq: 1 } }, { value: { seq: 2 } }, { value: { seq: 3 } }]);
    const last = [stays.next(), late.next(), late.next()];
    run.cancel("enough");
    await run.result;
    expect((await Promise.all(last)).map(({ done: isDone }) => isDone)).toEqual([false, false, true]);
    expect(await iterator().next()).toEqual(END);
  });

  test("J3: what somebody alone does with an event does not reach one who comes later", async () => {
    const runtime = new Runtime();
    const run = runtime.run(emits, "", { runId: RUN });
    const first = run.events()[Symbol.asyncIterator]();
    for (let n = 0; n < 2; n++) Reflect.set((await first.next()).value as RunEvent, "seq", -1);
    const second = run.events()[Symbol.asyncIterator]();
    await runtime.deliver(RUN, "next", null);
    expect(await second.next()).toMatchObject({ value: { seq: 3, event: { name: "1" } } });
    run.cancel("enough");
    await run.result;
  });
});

describe("review: what was not compiled", () => {
  const worlds: [string, () => RuntimeOptions][] = [
    ["without a journal", () => ({})],
    ["with a journal and a ledger", () => ({ journal: new MemoryJournal(), ledger: () => new FakeLedger() })],
  ];

  test.each(worlds)("R12: %s: a layer around the agent may give a thenable", async (_, options) => {
    const layer: Pipeline<AgentRunContext> = {
      isNoop: false,
      admit: () => {},
      run: (_context, core) => thenable(core()) as Promise<void>,
    };
    const lead: Agent = { ...agent("lead", async () => done("fine")), pipelines: { agent: layer } };
    expect(await new Runtime(options()).run(lead, "").result).toMatchObject({ output: "fine" });
  });

  test.each(worlds)("R24: %s: a fact may be made by a thenable, which may also fail", async (_, options) => {
    const lead = agent("lead", async (ctx) => {
      const made = await ctx.record("good", () => thenable(Promise.resolve("made")) as Promise<JsonValue>);
      const broken = thenable(Promise.reject(new Error("no such fact"))) as Promise<JsonValue>;
      const failed = await Promise.resolve(ctx.record("bad", () => broken)).catch(String);
      return done(`${String(made)} ${String(failed)}`);
    });
    const { output } = await new Runtime(options()).run(lead, "").result;
    expect(output).toBe("made Error: no such fact");
  });

  test("J11: a policy that denies by a thenable is waited for, and denies", async () => {
    let made = 0;
    const tool = defineTool({
      name: "t",
      description: "",
      input: z.object({}),
      execute: () => String(++made),
    });
    const permissions: Permissions = {
      isNoop: false,
      check: () => thenable(Promise.resolve({ allow: false, reason: "no" })) as Promise<PermissionDecision>,
    };
    const lead = agent("lead", async (ctx) => {
      const { content } = await ctx.tool({ id: "1", name: "t", arguments: "{}" }, tool);
      const called = await ctx.llm(model, ask("")).then(() => "called", String);
      return done(`${String(content)}; ${called}`);
    });
    const { output } = await new Runtime({ permissions }).run(lead, "").result;
    expect(output).toContain("t is not permitted: no");
    expect(output).not.toContain("called");
    expect(made).toBe(0);
  });

  test("R15: whether an agent is paused may come by a thenable", async () => {
    const headcount = new FakeHeadcount();
    headcount.pause("child/1");
    const isPaused = headcount.isPaused.bind(headcount);
    headcount.isPaused = (id) => thenable(Promise.resolve(isPaused(id))) as ReturnType<typeof isPaused>;
    let asked = 0;
    const counting = { ...model, generate: async () => said(String(++asked)) };
    const child = agent("child", async (ctx) =>
      done(String((await ctx.llm(counting, ask(""))).message.content)),
    );
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "" });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const run = new Runtime({ headcount: () => headcount }).run(lead, "");
    await turns();
    expect(asked).toBe(0);
    headcount.unpause("child/1");
    expect(await run.result).toMatchObject({ output: "1" });
  });

  test("R21: listeners that are drained by a thenable are waited for before the run ends", async () => {
    let isDrained = false;
    const drained = async (): Promise<void> => {
      await turns(3);
      isDrained = true;
    };
    const hooks: Hooks = {
      has: () => false,
      dispatch: () => {},
      drain: () => thenable(drained()) as Promise<void>,
    };
    await new Runtime({ hooks }).run(
      agent("lead", async () => done("")),
      "",
    ).result;
    expect(isDrained).toBe(true);
  });

  test("R24: a claim may come by a thenable", async () => {
    const journal = new MemoryJournal();
    const claim = journal.claim.bind(journal);
    journal.claim = (...given) =>
      thenable(Promise.resolve(claim(...given))) as ReturnType<MemoryJournal["claim"]>;
    const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask(""))).message.content)));
    expect(await new Runtime({ journal }).run(lead, "").result).toMatchObject({ output: "fine" });
  });

  test("R18: a request that cannot be read leaves no reservation open", async () => {
    let open = 0;
    const ledger: Ledger = new FakeLedger();
    ledger.reserve = () => {
      open++;
      const settle = () => {
        open--;
        return { warnings: [], exceeded: [] };
      };
      return { settle, cancel: () => void open-- };
    };
    const chat: Pipeline<ChatContext> = {
      isNoop: false,
      admit: () => {},
      run: (context, core) => {
        const hostile = {
          get seed(): number {
            throw new TypeError("no seed");
          },
        };
        context.request = Object.create(
          context.request,
          Object.getOwnPropertyDescriptors(hostile),
        ) as ModelRequest;
        return core();
      },
    };
    const lead = agent("lead", async (ctx) => done(await ctx.llm(model, ask("")).then(String, String)));
    const run = new Runtime({ ledger: () => ledger, pipelines: { chat } }).run(lead, "");
    expect(await run.result).toMatchObject({ output: "TypeError: no seed" });
    expect(open).toBe(0);
  });

  test("R23: a clock that breaks as a tool of a batch begins breaks that call alone", async () => {
    let isBroken = false;
    const now = (): number => {
      if (!isBroken) return 1;
      isBroken = false;
      throw new TypeError("no time");
    };
    const tools = ["one", "two"].map((name) =>
      defineTool({ name, description: "", input: z.object({}), execute: () => name }),
    );
    const ledger = new FakeLedger();
    const reserve = ledger.reserve.bind(ledger);
    // Reserved for the first, so the second begins next.
    ledger.reserve = (...given) => {
      isBroken = true;
      ledger.reserve = reserve;
      return reserve(...given);
    };
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch(
        tools.map((tool): ToolLeaf => ({
          kind: "tool",
          call: { id: tool.name, name: tool.name, arguments: "{}" },
          tool,
        })),
      );
      return done(outcomes.map(({ status }) => status).join());
    });
    const run = new Runtime({ ledger: () => ledger, clock: { now } }).run(lead, "");
    expect(await run.result).toMatchObject({ output: "completed,failed" });
  });
});
