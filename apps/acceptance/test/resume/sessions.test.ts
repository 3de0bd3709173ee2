import { type ChatMessage, defineTool, type ToolContext } from "@ravi/kernel";
import { Summarization } from "@ravi/context";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { MemorySessionStore, SessionAgent, type SessionEventName } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";

test("a session whose system prompt holds a secret is resumed with that prompt, and not with what is written of it", async () => {
  const secret = "canary-12345";
  const journal = new MemoryJournal();
  const store = new MemorySessionStore();
  const prompts: unknown[] = [];
  const make = (dies: boolean): SessionAgent => {
    const work = defineTool({
      name: "work",
      description: "Works.",
      input: z.object({}),
      execute: () => "done",
    });
    const model = scriptedModel(
      ({ messages }) => {
        prompts.push(messages[0]?.content);
        const hasWorked = messages.some(({ role }) => role === "tool");
        if (!hasWorked) return { toolCalls: [{ name: "work", arguments: {} }] };
        return dies ? { text: "", fault: { type: "hang" } } : "Finished.";
      },
      { info: { provider: "test", model: "fixed" } },
    );
    const prompt = { identity: `The door opens with ${secret}.`, footer: false };
    return new SessionAgent({ model, store, tools: [work], secrets: [secret], prompt });
  };
  const dying = new Runtime({ journal });
  const run = dying.run(make(true), "Work.", { runId: "r", sessionId: "s" });
  while (prompts.length < 2) await new Promise(setImmediate);
  await dying.close();
  expect((await run.result).status).toBe("suspended");

  const result = await new Runtime({ journal, agents: [make(false)] }).resume("r").result;
  expect(result).toMatchObject({ status: "completed", output: "Finished." });
  expect(new Set(prompts)).toEqual(new Set([`The door opens with ${secret}.`]));
  const log = store.open("s");
  const written = log.heads.find(({ kind }) => kind === "prompt");
  expect(written && log.read(written)).toMatchObject({ text: "The door opens with [secret]." });
});

test.each(["waits for a model", "has a tool in flight"])(
  "what another run has said in a session meanwhile is not hidden by one that is resumed, however often (it %s)",
  async (how) => {
    const isCalling = how === "has a tool in flight";
    const journal = new MemoryJournal();
    const store = new MemorySessionStore();
    let asked = 0;
    let last: readonly ChatMessage[] = [];
    /** Dies at one of its steps; none dies after so many. */
    const make = (diesAt: "tool" | "second" | "third" | "never"): SessionAgent => {
      const never = ({ signal }: ToolContext): Promise<never> => {
        asked++;
        return new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
      };
      const work = defineTool({
        name: "work",
        description: "Works.",
        input: z.object({ n: z.number() }),
        idempotent: true,
        execute: ({ n }, ctx) => (diesAt === "tool" ? never(ctx) : `worked ${n}`),
      });
      const model = scriptedModel(
        ({ messages }) => {
          asked++;
          last = [...messages];
          const said = messages.filter(({ role }) => role === "user").at(-1)?.content;
          if (said !== "Work.") return `Heard ${String(said)}`;
          const worked = messages.filter(({ role }) => role === "tool").length;
          if (worked === 1 && diesAt === "second") return { text: "", fault: { type: "hang" } };
          if (worked === 2 && diesAt === "third") return { text: "", fault: { type: "hang" } };
          return worked < 2 ? { toolCalls: [{ name: "work", arguments: { n: worked } }] } : "Finished.";
        },
        { info: { provider: "test", model: "fixed" } },
      );
      return new SessionAgent({ model, store, tools: [work] });
    };
    const dies = async (agent: SessionAgent, isFirst: boolean): Promise<void> => {
      const runtime = new Runtime({ journal, agents: [agent] });
      asked = 0;
      const options = { runId: "r", sessionId: "s" };
      const run = isFirst ? runtime.run(agent, "Work.", options) : runtime.resume("r");
      await vi.waitUntil(() => asked >= 2);
      await runtime.close();
      expect((await run.result).status).toBe("suspended");
    };
    const says = async (input: string): Promise<void> => {
      const run = new Runtime().run(make("never"), input, { sessionId: "s" });
      expect((await run.result).output).toBe(`Heard ${input}`);
    };
    await dies(make(isCalling ? "tool" : "second"), true);
    await says("One?");
    await dies(make("third"), false);
    await says("Two?");
    const result = await new Runtime({ journal, agents: [make("never")] }).resume("r").result;
    expect(result).toMatchObject({ status: "completed", output: "Finished." });
    await says("Three?");
    const texts = last
      .slice(1)
      .flatMap(({ content }) =>
        typeof content === "string" ? [content] : content.map((part) => ("text" in part ? part.text : "")),
      );
    const isWork = (text: string): boolean => text.startsWith("worked");
    const said = texts.filter((text) => text !== "" && !isWork(text));
    expect(said).toEqual(["Work.", "One?", "Heard One?", "Two?", "Heard Two?", "Finished.", "Three?"]);
    expect(texts.filter(isWork)).toEqual(["worked 0", "worked 1"]);
  },
);

test("nor by one that had said all it had to say, and only its end was not on record", async () => {
  const journal = new MemoryJournal();
  const store = new MemorySessionStore();
  let isAtEnd = false;
  let last: readonly ChatMessage[] = [];
  const make = (dies: boolean): SessionAgent => {
    const model = scriptedModel(
      ({ messages }) => {
        last = [...messages];
        return `Heard ${String(messages.at(-1)?.content)}`;
      },
      { info: { provider: "test", model: "fixed" } },
    );
    const end = async (): Promise<void> => {
      isAtEnd = true;
      if (dies) await new Promise(() => {});
    };
    return new SessionAgent({ model, store, extensions: [{ name: "end", on: { agent_end: end } }] });
  };
  const dying = new Runtime({ journal });
  const run = dying.run(make(true), "Zero?", { runId: "r", sessionId: "s" });
  await vi.waitUntil(() => isAtEnd);
  await dying.close();
  expect((await run.result).status).toBe("suspended");
  await new Runtime().run(make(false), "One?", { sessionId: "s" }).result;
  const resumed = new Runtime({ journal, agents: [make(false)] }).resume("r");
  expect((await resumed.result).output).toBe("Heard Zero?");
  await new Runtime().run(make(false), "Two?", { sessionId: "s" }).result;
  const said = last.slice(1).map(({ content }) => content);
  expect(said).toEqual(["Zero?", "Heard Zero?", "One?", "Heard One?", "Two?"]);
});

describe("a run that is resumed after its first turn, when another one has said something meanwhile", () => {
  const SAID = ["Zero?", "Heard Zero?", "One?", "Heard One?"];
  const textsOf = async (agent: SessionAgent): Promise<unknown[]> =>
    (await agent.sessionManager.messages()).map(({ content }) => content);
  const keepAnswer = {
    contextWindow: 100,
    strategy: { compact: (messages: readonly ChatMessage[]) => messages.slice(1) },
  };

  /** Runs "Zero?", dies at an event, and is resumed by the agent that is returned when another agent has said "One?". */
  async function resumed(diesAt: SessionEventName, followUp?: string): Promise<SessionAgent> {
    const journal = new MemoryJournal();
    const store = new MemorySessionStore();
    const { promise: isThere, resolve: arrive } = Promise.withResolvers<void>();
    const make = (dies: boolean): SessionAgent => {
      const inputTokens = (said: unknown): number => (said === "Zero?" ? 99 : 1);
      const model = scriptedModel(({ messages }) => {
        const said = messages.at(-1)?.content;
        return { text: `Heard ${String(said)}`, usage: { inputTokens: inputTokens(said), outputTokens: 0 } };
      });
      const hang = async (event: object): Promise<void> => {
        if (diesAt === "input" && Reflect.get(event, "text") !== followUp) return;
        arrive();
        await new Promise(() => {});
      };
      return new SessionAgent({
        model,
        store,
        sessionId: "s",
        compaction: diesAt.includes("compact") ? keepAnswer : undefined,
        extensions: dies ? [{ name: "end", on: { [diesAt]: hang } }] : [],
        secrets: [],
      });
    };
    const first = make(true);
    const dying = new Runtime({ journal, agents: [first] });
    const run = dying.run(first, "Zero?", { runId: "r", sessionId: "s" });
    if (followUp !== undefined) await dying.send("r", { followUp });
    await isThere;
    await dying.close();
    expect((await run.result).status).toBe("suspended");
    await first.shutdown();
    const other = make(false);
    await new Runtime().run(other, "One?").result;
    await other.shutdown();
    const agent = make(false);
    const last = await new Runtime({ journal, agents: [agent] }).resume("r").result;
    expect(last).toMatchObject({ status: "completed", output: `Heard ${followUp ?? "Zero?"}` });
    return agent;
  }

  test("O19: its agent goes on after that", async () => {
    const agent = await resumed("agent_end");
    await agent.invoke("Two?");
    expect(await textsOf(agent)).toEqual([...SAID, "Two?", "Heard Two?"]);
    await agent.shutdown();
  });

  test("O19: so does its own next turn", async () => {
    const agent = await resumed("input", "Two?");
    expect(await textsOf(agent)).toEqual([...SAID, "Two?", "Heard Two?"]);
    await agent.shutdown();
  });

  test.each<[SessionEventName, number]>([
    // A compaction of what was there before would hide it: the next turn makes one of everything.
    ["session_before_compact", 0],
    ["session_compact", 1],
  ])("O12, O19: a compaction does not hide that, and is made once (died at %s)", async (diesAt, made) => {
    const agent = await resumed(diesAt);
    // As whoever opens it next finds it.
    await agent.close();
    await agent.open();
    expect(await textsOf(agent)).toEqual(SAID.slice(made));
    const kinds = agent.sessionManager.entries().map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "compaction")).toHaveLength(made);
    await agent.invoke("Two?");
    expect(await textsOf(agent)).toEqual([...SAID.slice(made), "Two?", "Heard Two?"]);
    await agent.shutdown();
  });
});

test("O4, O19: a run that is resumed and fails takes nothing back on which another one has built", async () => {
  const journal = new MemoryJournal();
  const store = new MemorySessionStore();
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  const make = (fate: "hangs" | "fails" | "answers"): SessionAgent => {
    const model = scriptedModel(() => {
      if (fate === "hangs") asked();
      if (fate === "fails") return new Error("no such model");
      return fate === "hangs" ? { text: "", fault: { type: "hang" } } : "Heard.";
    });
    return new SessionAgent({ model, store, sessionId: "s", retry: false, secrets: [] });
  };
  const first = make("hangs");
  const dying = new Runtime({ journal, agents: [first] });
  const run = dying.run(first, "Zero?", { runId: "r" });
  await isAsked;
  await dying.close();
  expect((await run.result).status).toBe("suspended");
  await first.shutdown();
  const other = make("answers");
  await new Runtime().run(other, "One?").result;
  const said = await other.sessionManager.messages();
  expect(said.map(({ content }) => content)).toEqual(["Zero?", "One?", "Heard."]);
  await other.shutdown();
  const agent = make("fails");
  const failed = await new Runtime({ journal, agents: [agent] }).resume("r").result;
  expect(failed).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("no such model") },
  });
  expect(await agent.sessionManager.messages()).toEqual(said);
  await agent.close();
  const next = make("answers");
  expect(await (await next.open()).messages()).toEqual(said);
  await next.shutdown();
});

test.each(["asked for from outside", "made", "not made, because it was in vain before"])(
  "O12: a run in which a compaction was %s is resumed, whatever its agent knows of that",
  async (how) => {
    const journal = new MemoryJournal();
    const store = new MemorySessionStore();
    const { promise: isThere, resolve: arrive } = Promise.withResolvers<void>();
    // What gives no summary is not asked again at once.
    const writer = scriptedModel(() => (how.startsWith("not made") ? " " : "Notes."));
    const isFull = how !== "asked for from outside";
    const make = (dies: boolean): SessionAgent => {
      const model = scriptedModel(({ messages }) => {
        const said = messages.at(-1)?.content;
        if (dies && said === "One?" && !isFull) agent.compact();
        const usage = { inputTokens: isFull && said !== "Two?" ? 990 : 1, outputTokens: 0 };
        return { text: `Heard ${String(said)} ${"word ".repeat(20)}`, usage };
      });
      const hang = async ({ output }: { readonly output: string }): Promise<void> => {
        if (!output.startsWith("Heard Two?")) return;
        arrive();
        await new Promise(() => {});
      };
      const agent: SessionAgent = new SessionAgent({
        model,
        store,
        sessionId: "s",
        secrets: [],
        compaction: {
          strategy: new Summarization({ model: writer, keepRecentTokens: 10, triggerTokens: 50 }),
          contextWindow: 1_000,
        },
        extensions: dies ? [{ name: "end", on: { agent_end: hang } }] : [],
      });
      return agent;
    };
    const first = make(true);
    for (const input of ["Minus one?", "Zero?"]) await first.invoke(input);
    const dying = new Runtime({ journal, agents: [first] });
    const run = dying.run(first, "One?", { runId: "r", sessionId: "s" });
    await dying.send("r", { followUp: "Two?" });
    await isThere;
    await dying.close();
    expect((await run.result).status).toBe("suspended");
    await first.shutdown();
    const summaries = writer.calls.length;
    const agent = make(false);
    const last = await new Runtime({ journal, agents: [agent] }).resume("r").result;
    expect(last).toMatchObject({ status: "completed", output: expect.stringContaining("Heard Two?") });
    expect(writer.calls).toHaveLength(summaries);
    await agent.shutdown();
  },
);

test("O19: what is stored from outside during a turn does not make a resumed run write its messages again", async () => {
  const journal = new MemoryJournal();
  const store = new MemorySessionStore();
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  const make = (dies: boolean): SessionAgent => {
    const model = scriptedModel(({ messages }) => {
      const looked = messages.filter(({ role }) => role === "tool").length;
      if (looked === 0) return { toolCalls: [{ name: "look", arguments: {} }] };
      if (dies) asked();
      return dies ? { text: "", fault: { type: "hang" } } : "Seen.";
    });
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      execute: async () => {
        await agent.sessionManager.appendCustom("outside", "while it looks");
        return "a room";
      },
    });
    const note = async (): Promise<void> => void (await agent.sessionManager.appendCustom("note", 1));
    const agent: SessionAgent = new SessionAgent({
      model,
      store,
      sessionId: "s",
      tools: [look],
      secrets: [],
      extensions: [{ name: "notes", on: { message_end: note } }],
    });
    return agent;
  };
  const first = make(true);
  const dying = new Runtime({ journal, agents: [first] });
  const run = dying.run(first, "Look.", { runId: "r" });
  await isAsked;
  await first.sessionManager.appendCustom("outside", "before it is stopped");
  const before = first.sessionManager.path().map(({ id }) => id);
  await dying.close();
  expect((await run.result).status).toBe("suspended");
  await first.shutdown();
  const agent = make(false);
  const result = await new Runtime({ journal, agents: [agent] }).resume("r").result;
  expect(result).toMatchObject({ status: "completed", output: "Seen." });
  const path = agent.sessionManager.path();
  expect(path.slice(0, before.length).map(({ id }) => id)).toEqual(before);
  expect(path.slice(before.length).map(({ kind }) => kind)).toEqual(["message", "custom"]);
  expect(agent.sessionManager.entries().filter(({ kind }) => kind !== "prompt")).toHaveLength(path.length);
  await agent.shutdown();
});

test.each([false, true])(
  "O19: what an extension stores after a turn is stored once, also if its run is resumed after that (others have spoken meanwhile: %s)",
  async (isBuiltOn) => {
    const journal = new MemoryJournal();
    const store = new MemorySessionStore();
    const { promise: isThere, resolve: arrive } = Promise.withResolvers<void>();
    const make = (dies: boolean): SessionAgent => {
      const model = scriptedModel(({ messages }) => `Heard ${String(messages.at(-1)?.content)}`);
      const keep = (name: string) => async (): Promise<void> =>
        void (await agent.sessionManager.appendCustom(name, "the same"));
      const settled = async (): Promise<void> => {
        await keep("settled")();
        if (dies) arrive();
        if (dies) await new Promise(() => {});
      };
      const on = { agent_end: keep("agent_end"), save_point: keep("save_point"), settled };
      const agent = new SessionAgent({
        model,
        store,
        sessionId: "s",
        secrets: [],
        extensions: [{ name: "notes", on }],
      });
      return agent;
    };
    const first = make(true);
    const dying = new Runtime({ journal, agents: [first] });
    const run = dying.run(first, "Zero?", { runId: "r", sessionId: "s" });
    await dying.send("r", { followUp: "One?" });
    await isThere;
    await dying.close();
    expect((await run.result).status).toBe("suspended");
    await first.shutdown();
    if (isBuiltOn) {
      const other = new SessionAgent({
        model: scriptedModel(["Heard."]),
        store,
        sessionId: "s",
        secrets: [],
      });
      await other.invoke("Two?");
      await other.shutdown();
    }
    const agent = make(false);
    const result = await new Runtime({ journal, agents: [agent] }).resume("r").result;
    expect(result).toMatchObject({ status: "completed", output: "Heard One?" });
    await agent.close();
    const opened = await agent.open();
    const texts = (await opened.messages()).map(({ content }) => content);
    const others = isBuiltOn ? ["Two?", "Heard."] : [];
    expect(texts).toEqual(["Zero?", "Heard Zero?", "One?", "Heard One?", ...others]);
    const customs = opened.entries().filter(({ kind }) => kind === "custom");
    const names = customs.map(async ({ id }) => Reflect.get(await opened.read(id), "name"));
    expect(await Promise.all(names)).toEqual([
      "agent_end",
      "save_point",
      "agent_end",
      "save_point",
      "settled",
    ]);
    await agent.shutdown();
  },
);

test("O4, O19: what was said after a turn that failed is not hidden when that turn is retried, however often", async () => {
  const journal = new MemoryJournal();
  const store = new MemorySessionStore();
  const make = (isDown: boolean): SessionAgent => {
    const model = scriptedModel(({ messages }) =>
      isDown ? new Error("an outage") : `Heard ${String(messages.at(-1)?.content)}`,
    );
    return new SessionAgent({ model, store, retry: false, secrets: [] });
  };
  const says = async (input: string): Promise<void> => {
    const { result } = new Runtime().run(make(false), input, { sessionId: "s" });
    expect(await result).toMatchObject({ status: "completed", output: `Heard ${input}` });
  };
  const retry = async (isDown: boolean): Promise<string> => {
    const runtime = new Runtime({ journal, agents: [make(isDown)] });
    return (await runtime.resume("r", { retryFailed: true }).result).status;
  };
  const failing = new Runtime({ journal }).run(make(true), "Zero?", { runId: "r", sessionId: "s" });
  expect((await failing.result).status).toBe("failed");
  await says("One?");
  expect(await retry(true)).toBe("failed");
  await says("Two?");
  expect(await retry(true)).toBe("failed");
  expect(await retry(false)).toBe("completed");
  await says("Three?");
  const reader = new SessionAgent({ model: scriptedModel([]), store, sessionId: "s", secrets: [] });
  const texts = (await (await reader.open()).messages()).map(({ content }) => content);
  expect(texts).toEqual(["One?", "Two?", "Zero?", "Three?"].flatMap((said) => [said, `Heard ${said}`]));
  await reader.shutdown();
});

test("O19, R24: a message that comes when the answer is there and the turn is not over begins another turn, also in a replay", async () => {
  const journal = new MemoryJournal();
  const store = new MemorySessionStore();
  const { promise: isThere, resolve: arrive } = Promise.withResolvers<void>();
  const make = (dies: boolean): SessionAgent => {
    const model = scriptedModel(({ messages }) => {
      const said = String(messages.at(-1)?.content);
      if (dies && said === "One?") arrive();
      return dies && said === "One?" ? { text: "", fault: { type: "hang" } } : `Heard ${said}`;
    });
    const send = async (): Promise<void> => (dies ? dying.send("r", { steer: "One?" }) : undefined);
    return new SessionAgent({ model, store, extensions: [{ name: "late", on: { agent_end: send } }] });
  };
  const dying = new Runtime({ journal });
  const run = dying.run(make(true), "Zero?", { runId: "r", sessionId: "s" });
  await isThere;
  await dying.close();
  expect((await run.result).status).toBe("suspended");
  const resumed = new Runtime({ journal, agents: [make(false)] }).resume("r");
  expect(await resumed.result).toMatchObject({ status: "completed", output: "Heard One?" });
});
