import { afterEach, describe, expect, test } from "vitest";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, cut, done, FakeLedger } from "../support/helpers.ts";
import { bareContext } from "@ravi/kernel/loop";
import {
  type Agent,
  type ChatContext,
  ExecId,
  isRaviError,
  type Journal,
  type JournalEntry,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  RunId,
  systemClock,
  textOf,
} from "@ravi/kernel";
import { RunJournal } from "../../src/engine/run-journal.ts";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";

test("R24: a result that cannot be written down is the child's failure, not the end of the journal", async () => {
  const journal = new MemoryJournal();
  const child = agent("child", async () => ({ ...done("big"), structured: { n: 1n } }));
  const lead = agent("lead", async (ctx) => {
    const [outcome] = await ctx.batch([{ kind: "hire", agent: child, input: "" }]);
    return done(outcome?.status ?? "");
  });
  const settled = new Runtime({ journal }).run(lead, "").result.catch((error: unknown) => error);
  expect(await settled).toMatchObject({ status: "completed", output: "failed" });
});

const clerk = agent("clerk", async (_, inbox) => {
  const message = await inbox.receive();
  const failure = await inbox.reply(message, Number.NaN).then(() => "none", String);
  await inbox.reply(message, { failure, unset: undefined });
  return done("");
});

const lead = agent("lead", async (ctx) => {
  const handle = await ctx.spawn(clerk, { input: "" });
  const asked = await ctx.ask(handle, new Date(0) as never).catch(String);
  const { failure } = (await ctx.ask(handle, { well: undefined, rounded: Math.round(-0.2) })) as {
    failure: string;
  };
  return done(`${String(asked)} | ${failure}`);
});

const REFUSED = /ask\.message.*plain object.* \| .*inbox\.reply.*a finite number/s;

describe("what a journal cannot keep is refused, and what it can is said", () => {
  test.each([
    ["on a journal", { journal: new MemoryJournal() }],
    ["without one", {}],
  ])("R23: %s", async (_, services) => {
    expect((await new Runtime(services).run(lead, "").result).output).toMatch(REFUSED);
  });

  test("R23: in a bare context", async () => {
    const ctx = bareContext();
    const outcome = await ctx.hire({ agent: lead, input: "" });
    expect("result" in outcome && outcome.result.output).toMatch(REFUSED);
  });
});

interface Circle {
  self?: Circle;
}

const circle: Circle = {};

circle.self = circle;

const ANSWER: ModelResponse = {
  message: { role: "assistant", content: "hi" },
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 5 },
};

const USED = { tokens: 15, turns: 1 };

const opened: Journal[] = [];

afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
});

const JOURNALS: readonly [string, () => Journal][] = [
  ["in memory", () => new MemoryJournal()],
  [
    "on disk",
    () => {
      const journal = SqliteJournal.open(temporaryDirectory());
      opened.push(journal);
      return journal;
    },
  ],
];

/** Answers with that once, and from then on as it should. */
function giving(first: object): LLMClient & { paid: number } {
  return {
    id: "m",
    info: { provider: "x", model: "m" },
    paid: 0,
    generate() {
      return Promise.resolve(this.paid++ === 0 ? (first as ModelResponse) : ANSWER);
    },
  };
}

/** Asks twice, the second time with the first answer before it. */
const asking = (model: LLMClient, heard: string[]): Agent =>
  agent("lead", async (ctx) => {
    const first = await ctx.llm(model, ask("1"));
    heard.push(textOf(first.message));
    const second = await ctx.llm(model, { messages: [...ask("1").messages, first.message] });
    heard.push(textOf(second.message));
    return done(heard.join(" "));
  });

const EXTRAS: readonly [string, object][] = [
  ["a circle", { ...ANSWER, raw: circle }],
  ["a bigint", { ...ANSWER, took: 10n }],
  ["a circle in its message", { ...ANSWER, message: { ...ANSWER.message, raw: circle } }],
  ["a circle in its usage", { ...ANSWER, usage: { ...ANSWER.usage, raw: circle } }],
  [
    "a getter that throws",
    {
      ...ANSWER,
      get raw() {
        throw new Error("not now");
      },
    },
  ],
  [
    "a toJSON that throws",
    {
      ...ANSWER,
      raw: {
        toJSON() {
          throw new Error("not now");
        },
      },
    },
  ],
  ["a circle in a toJSON of its own", { ...ANSWER, toJSON: () => circle }],
];

describe.each(JOURNALS)("T5: an answer of which not all can be written down, %s", (_, open) => {
  test.each(EXTRAS)(
    "with %s beside what it says is delivered without it, and the run goes on",
    async (__, given) => {
      const journal = open();
      const ledger = new FakeLedger();
      const model = giving(given);
      const heard: string[] = [];
      const runtime = new Runtime({ journal, ledger: () => ledger });
      const result = await runtime.run(asking(model, heard), "", { runId: "r" }).result;
      expect(result).toMatchObject({ status: "completed", output: "hi hi" });
      expect(ledger.used).toMatchObject({ tokens: 30, turns: 2 });

      const records = await journal.load(RunId("r"));
      const again: string[] = [];
      const resumed = new Runtime({
        journal: cut("r", records.slice(0, -1)),
        ledger: () => new FakeLedger(),
        agents: [asking(model, again)],
      });
      expect(await resumed.resume("r").result).toMatchObject({ status: "completed", output: "hi hi" });
      expect(model.paid, "what was paid is not asked for again").toBe(2);
    },
  );

  test("that is what it says fails as a bad answer, on record with what it cost; not handled, the run has failed", async () => {
    const journal = open();
    const ledger = new FakeLedger();
    const content = [{ type: "text", text: "hi", raw: circle }];
    const model = giving({ ...ANSWER, message: { role: "assistant", content } });
    const runtime = new Runtime({ journal, ledger: () => ledger });
    const { status, error } = await runtime.run(asking(model, []), "", { runId: "r" }).result;
    expect({ status, error }).toMatchObject({
      status: "failed",
      error: {
        code: "PROVIDER_ERROR",
        kind: "FORMAT_ERROR",
        message: expect.stringMatching(/message\.content/),
      },
    });
    expect(ledger.used).toMatchObject(USED);

    const records = await journal.load(RunId("r"));
    const end = records.findIndex(({ key, phase }) => key.startsWith("llm:") && phase === "end");
    expect(records[end]?.body).toMatchObject({ spend: USED });
    const restored = new FakeLedger();
    const resumed = new Runtime({
      journal: cut("r", records.slice(0, end + 1)),
      ledger: () => restored,
      agents: [asking(model, [])],
    });
    expect((await resumed.resume("r").result).status).toBe("failed");
    expect(model.paid, "paid once, and not asked again").toBe(1);
    expect(restored.used).toMatchObject(USED);
  });

  test("that a layer has put there is no different", async () => {
    const journal = open();
    const model = giving(ANSWER);
    const chat: Pipeline<ChatContext> = {
      isNoop: false,
      admit: () => Promise.resolve(),
      async run(context, core) {
        await core();
        Object.assign(context, { result: { ...ANSWER, span: circle } });
      },
    };
    const asks: Agent = { ...asking(model, []), pipelines: { chat } };
    const result = await new Runtime({ journal }).run(asks, "", { runId: "r" }).result;
    expect(result).toMatchObject({ status: "completed", output: "hi hi" });
  });

  test("of a helper: what cannot be written down is the hire's failure, on record, and the run goes on", async () => {
    const journal = open();
    const model = giving(ANSWER);
    // It can be written once: the look that is taken at it before.
    const fickle = (): object => {
      let asked = 0;
      return {
        toJSON() {
          if (asked++ > 0) throw new Error("not again");
          return {};
        },
      };
    };
    let helped = 0;
    const helper = agent("helper", async () => {
      helped++;
      return { ...done(""), structured: fickle() };
    });
    const make = (): Agent =>
      agent("lead", async (ctx) => {
        const told = await ctx.hire({ agent: helper, input: "" }).then(
          ({ status }) => status,
          (error: unknown) => (isRaviError(error) ? error.code : String(error)),
        );
        await ctx.llm(model, ask("2"));
        return done(told);
      });
    const result = await new Runtime({ journal }).run(make(), "", { runId: "r" }).result;
    expect(result).toMatchObject({ status: "completed", output: "INVALID_VALUE" });
    const records = await journal.load(RunId("r"));
    const resumed = new Runtime({ journal: cut("r", records.slice(0, -1)), agents: [make(), helper] });
    expect(await resumed.resume("r").result).toMatchObject({ status: "completed", output: "INVALID_VALUE" });
    expect({ helped, paid: model.paid }).toEqual({ helped: 1, paid: 1 });
  });
});

describe("T5: a journal that refuses a value has not failed", () => {
  const entry = (key: string, body: object): JournalEntry => ({
    exec: ExecId(RunId("r")),
    key,
    attempt: 1,
    phase: "note",
    at: 0,
    body: body as JournalEntry["body"],
  });

  test.each(JOURNALS)("%s: the next entry is taken", async (_, open) => {
    const journal = await RunJournal.claim(open(), RunId("r"), "me", systemClock);
    await expect(async () => journal.append([entry("a", { circle })])).rejects.toMatchObject({
      code: "INVALID_VALUE",
    });
    expect(journal.isLost).toBe(false);
    await journal.append([entry("b", {})]);
    // That somebody else has written the same is another matter: then it is no longer ours alone.
    await expect(async () => journal.append([entry("b", {})])).rejects.toMatchObject({
      code: "INVALID_VALUE",
    });
    expect(journal.isLost).toBe(true);
    await journal.release();
  });

  test("one of the user's that says so in its own words neither", async () => {
    const memory = new MemoryJournal();
    const own: Journal = Object.assign(Object.create(memory) as MemoryJournal, {
      append: async (_: RunId, __: number, entries: readonly JournalEntry[]) => void JSON.stringify(entries),
    });
    const journal = await RunJournal.claim(own, RunId("r"), "me", systemClock);
    await expect(async () => journal.append([entry("a", { circle })])).rejects.toThrow(/circular/);
    expect(journal.isLost).toBe(false);
    await journal.release();
  });
});
