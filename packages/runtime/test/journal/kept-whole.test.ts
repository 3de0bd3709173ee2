import { describe, expect, test } from "vitest";
import {
  type ChatContext,
  type JournalRecord,
  type JsonObject,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  RunId,
} from "@ravi/kernel";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done } from "../support/helpers.ts";

// A body that the runtime froze is kept by the journal in memory as it is. So nobody else may hold a part of it, and nothing may be in
// it that a journal on disk would refuse.

const RUN = RunId("r1");
const info = { provider: "x", model: "m" };

/** Two calls of a model that answers so, and what is on record after `spoil`. */
async function recorded(
  response: ModelResponse,
  spoil: () => void,
  options: RuntimeOptions = {},
): Promise<readonly JournalRecord[]> {
  const journal = new MemoryJournal();
  const model: LLMClient = { id: "m", info, generate: async () => response };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("a"));
    return done("");
  });
  const { status } = await new Runtime({ journal, ...options }).run(lead, "", { runId: RUN }).result;
  expect(status).toBe("completed");
  spoil();
  return journal.load(RUN);
}

function responseIn(records: readonly JournalRecord[]): unknown {
  return records.find(({ key, phase }) => key === "llm:m#1" && phase === "end")?.body["response"];
}

const base = { finishReason: "stop", usage: { inputTokens: 1, outputTokens: 1 } } as const;

describe("what the journal in memory keeps", () => {
  test("R24: of a message with a field that nobody knows the record stays, whatever becomes of the field", async () => {
    const extra = { inner: ["kept"] };
    const message = { role: "assistant", content: "hi", extra } as const;
    const records = await recorded({ ...base, message }, () => void (extra.inner[0] = "spoilt"));
    expect(responseIn(records)).toMatchObject({ message: { extra: { inner: ["kept"] } } });
  });

  test("R24: of an answer that a layer gave, without usage, the record stays too", async () => {
    const raw = { inner: ["kept"] };
    const cached = { message: { role: "assistant", content: "hi" }, finishReason: "stop", raw } as const;
    const chat: Pipeline<ChatContext> = {
      isNoop: false,
      admit: () => {},
      run: async (context) => void (context.result = cached),
    };
    const message = { role: "assistant", content: "not asked" } as const;
    const spoil = (): void => void (raw.inner[0] = "spoilt");
    const records = await recorded({ ...base, message }, spoil, { pipelines: { chat } });
    expect(responseIn(records)).toEqual({ ...cached, raw: { inner: ["kept"] } });
  });

  test("R24: an answer under two names is copied under both", async () => {
    const message = { role: "assistant" as const, content: "hi" };
    const response = { ...base, message, choice: message };
    const records = await recorded(response, () => void (message.content = "spoilt"));
    expect(responseIn(records)).toMatchObject({ message: { content: "hi" }, choice: { content: "hi" } });
  });

  const self: JsonObject = {};
  Reflect.set(self, "inner", [self]);
  test.each<[what: string, metadata: object, field: string]>([
    ["a bigint", { user: { id: 7n } }, "user.id"],
    ["a number that JSON does not have", { scores: [1, Number.NaN] }, "scores[1]"],
    ["a date, which a resumed run would read as a text", { when: new Date(0) }, "when"],
    ["a map", { seen: new Map([["a", 1]]) }, "seen"],
    ["a function", { log: () => {} }, "log"],
    ["a circle", self, "inner[0]"],
  ])("R24: metadata that is not plain JSON is refused when the run is started: %s", (_, metadata, field) => {
    for (const journal of [new MemoryJournal(), undefined]) {
      const start = (): unknown =>
        new Runtime({ journal }).run(
          agent("lead", async () => done("")),
          "",
          { runId: RUN, metadata: metadata as JsonObject },
        );
      expect(start).toThrow(
        expect.objectContaining({
          code: "INVALID_VALUE",
          field: expect.stringContaining(`run options.metadata.${field}`),
        }),
      );
    }
  });

  test("R24: metadata is on record as it was when the run began, without the fields that are undefined", async () => {
    const journal = new MemoryJournal();
    const metadata = { user: { name: "Ada", title: undefined } };
    const { result } = new Runtime({ journal }).run(
      agent("lead", async () => done("")),
      "",
      { runId: RUN, metadata },
    );
    metadata.user.name = "Bob";
    await result;
    expect(journal.load(RUN)[0]?.body["metadata"]).toEqual({ user: { name: "Ada" } });
  });
});
