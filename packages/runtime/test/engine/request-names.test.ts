import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { type Agent, type ChatMessage, type ModelRequest, type RunContext, RunId } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { Requests } from "../../src/context/requests.ts";
import { agent, ask, cut, done } from "../support/helpers.ts";
import { said } from "../support/open-house.ts";

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

describe("requests of one execution", () => {
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
