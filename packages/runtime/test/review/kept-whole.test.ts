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
import { Runtime, type RunOptions, type RuntimeOptions } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done } from "./helpers.ts";

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

describe("review: what the journal in memory keeps", () => {
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

  const started = async (metadata: object): Promise<{ status: string; records: () => unknown }> => {
    const journal = new MemoryJournal();
    const options: RunOptions = { runId: RUN, metadata: metadata as JsonObject };
    const run = new Runtime({ journal }).run(
      agent("lead", async () => done("")),
      "",
      options,
    );
    const status = await run.result.then((result) => result.status, String);
    return { status, records: () => journal.load(RUN) };
  };

  test("R24: metadata that cannot be written down is refused when the run begins, and not when it is read", async () => {
    const { status, records } = await started({ big: 1n });
    expect(status).toContain("plain JSON");
    expect(records()).toEqual([]);
  });

  test("R24: metadata that is no plain data is on record as it was when the run began", async () => {
    const when = new Date(0);
    const { records } = await started({ when });
    when.setTime(1e12);
    expect(JSON.stringify(records())).toContain("1970-01-01");
  });
});
