import {
  defineExtension,
  type Extension,
  MemorySessionStore,
  type SessionAgentOptions,
  type SessionEventName,
  type SessionStore,
} from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { problemWith } from "./prompt-check.ts";
import { EVENTS, recorder, session, tool } from "./support.ts";
import { getEventListeners } from "node:events";

const call = (id: string) => ({ name: "work", arguments: {}, id });

/** Aborts at the nth time that it is told of an event, and then keeps the turn waiting for ever. */
function aborter(event: SessionEventName, nth: number, abort: () => unknown): Extension {
  let count = 0;
  const handler = (): Promise<undefined> | undefined => {
    if (++count !== nth || abort() === false) return undefined;
    return new Promise(() => {});
  };
  return defineExtension({ name: "aborter", on: { [event]: handler } });
}

/**
 * A turn with two calls, aborted somewhere by what `meddle` adds; then another turn. Checks what must hold whatever happens,
 * and gives the last thing that was told of the first turn.
 */
async function aborted(
  meddle: (abort: () => unknown) => Partial<SessionAgentOptions> & { readonly before?: () => void },
): Promise<string | undefined> {
  const log: string[] = [];
  let made = 0;
  let isArmed = true;
  const { before, ...meddled } = meddle(() => isArmed && agent.abort());
  const model = scriptedModel(({ messages }) => {
    if (isArmed) before?.();
    const last = messages.at(-1);
    if (last?.role === "user" && last.content === "Work.") return { toolCalls: [call("a"), call("b")] };
    return last?.role === "tool" ? "Done." : "Later.";
  });
  const agent = session({
    model,
    tools: [tool("work", () => `result ${++made}`)],
    compaction: {
      strategy: { compact: (messages) => messages.slice(-1) },
      contextWindow: 1,
      reserveTokens: 0,
    },
    ...meddled,
    extensions: [recorder(log), ...(meddled.extensions ?? [])],
  });
  await agent.invoke("Work.").catch((error: unknown) => expect(error).toMatchObject({ code: "CANCELLED" }));
  expect(agent.phase).toBe("idle");
  expect(log.filter((name) => name.startsWith("agent_end"))).toHaveLength(1);
  expect(log.filter((name) => name === "settled")).toHaveLength(1);
  const last = log.at(-1);
  // Whatever was made is there; nothing is made again.
  const entries = agent.sessionManager.entries();
  const written = await Promise.all(entries.map(({ id }) => agent.sessionManager.read(id)));
  const results = written.filter((entry) => entry.kind === "message" && entry.message.role === "tool");
  expect(results).toHaveLength(made);
  expect(problemWith(await agent.sessionManager.messages())).toBeUndefined();
  isArmed = false;
  const madeBefore = made;
  await agent.invoke("Go on.");
  expect(made).toBe(madeBefore);
  await agent.close();
  return last;
}

for (const event of EVENTS)
  it(`O2, O4: an abort at any ${event} ends the turn once, keeps what was done, and the session goes on`, async () => {
    for (let nth = 1; nth <= 6; nth++)
      expect(await aborted((abort) => ({ extensions: [aborter(event, nth, abort)] }))).toBe("settled");
  });

it("O2, O4: the same for an abort while an entry is written, before or after it is there", async () => {
  for (let nth = 1; nth <= 8; nth++)
    for (const isAfter of [false, true]) {
      const last = await aborted((abort) => {
        const memory = new MemorySessionStore();
        let count = 0;
        const store: SessionStore = {
          list: () => memory.list(),
          delete: (id) => memory.delete(id),
          open(id) {
            const log = memory.open(id);
            return {
              id,
              heads: log.heads,
              get info() {
                return log.info;
              },
              read: (head) => log.read(head),
              close: () => log.close(),
              async append(entries, begin) {
                const isNow = ++count === nth;
                if (isNow && !isAfter) abort();
                const heads = await log.append(entries, begin);
                if (isNow && isAfter) abort();
                return heads;
              },
            };
          },
        };
        return { store };
      });
      expect(last).toBe("settled");
    }
});

it("O2, O4: the same for an abort by a model, a guardrail, a source, a strategy, a prompt, or a watcher", async () => {
  const nothing = (abort: () => unknown) => () => {
    abort();
    return undefined;
  };
  const lasts: (string | undefined)[] = [];
  for (let nth = 1; nth <= 3; nth++) {
    const nthTime = (abort: () => unknown) => {
      let count = 0;
      return nothing(() => ++count === nth && abort());
    };
    lasts.push(await aborted((abort) => ({ before: nthTime(abort) })));
    lasts.push(await aborted((abort) => ({ guardrails: [{ name: "g", beforeCall: nthTime(abort) }] })));
    lasts.push(await aborted((abort) => ({ guardrails: [{ name: "g", afterCall: nthTime(abort) }] })));
    lasts.push(await aborted((abort) => ({ ephemeral: [{ name: "e", look: nthTime(abort) }] })));
    lasts.push(await aborted((abort) => ({ extensions: [{ name: "w", onEvent: nthTime(abort) }] })));
  }
  lasts.push(await aborted((abort) => ({ prompt: { append: () => String(abort()) } })));
  lasts.push(
    await aborted((abort) => ({
      compaction: {
        strategy: {
          compact: (messages) => {
            abort();
            return messages.slice(-1);
          },
        },
        contextWindow: 1,
        reserveTokens: 0,
      },
    })),
  );
  expect(new Set(lasts)).toEqual(new Set(["settled"]));
});

it("an abort does not wait for a source of live state, a prompt or a strategy that never settles", async () => {
  const never = (): Promise<never> => new Promise(() => {});
  const hanging = [
    { ephemeral: [{ name: "screen", look: never }] },
    { prompt: { append: never } },
    { compaction: { strategy: { compact: never }, contextWindow: 1, reserveTokens: 0 } },
  ];
  for (const options of hanging) {
    const agent = session({ model: scriptedModel(() => "ok"), ...options });
    const turn = agent.invoke("x").catch((error: unknown) => error);
    // All that settles has settled by then.
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
    agent.abort();
    await turn;
    expect(agent.isIdle()).toBe(true);
  }
});

it("an extension hears what the loop tells from the first turn on", async () => {
  const heard: string[] = [];
  const agent = session({
    model: scriptedModel(() => "Hello there."),
    extensions: [{ name: "ear", onEvent: (event) => heard.push(event.type) }],
  });
  await agent.invoke("one");
  expect(heard).toContain("step");
  expect(heard).toContain("text");
});

it("an abort does not wait for a tool that hears no signal, and keeps what the others did", async () => {
  const log: string[] = [];
  const named = (name: string) => ({ name, arguments: {}, id: name });
  const model = scriptedModel([{ toolCalls: [named("a"), named("deaf"), named("b")] }, "after"]);
  const agent = session({
    model,
    extensions: [recorder(log)],
    tools: [
      tool("a", () => "a done"),
      tool("b", () => "b done"),
      tool("deaf", () => {
        setImmediate(() => agent.abort());
        return new Promise(() => {});
      }),
    ],
  });
  await expect(agent.invoke("x")).rejects.toMatchObject({ code: "CANCELLED" });
  await agent.invoke("go on");
  expect(model.calls[1]?.request.messages.slice(3, 6)).toMatchObject([
    { toolCallId: "a", content: "a done" },
    { toolCallId: "deaf", content: expect.stringContaining("may or may not have happened"), isError: true },
    { toolCallId: "b", content: "b done" },
  ]);
  expect(log.filter((event) => event === "message_end tool")).toHaveLength(2);
});

it("a signal that is aborted already ends the turn before anything is said", async () => {
  const agent = session({ model: scriptedModel(["a"]) });
  await expect(agent.invoke("x", { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "CANCELLED",
  });
  expect((await agent.invoke("y")).output).toBe("a");
  expect(await agent.sessionManager.messages()).toHaveLength(2);
});

it("an abort while an extension looks at the results keeps the results", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "send", arguments: {}, id: "a" }] }, "after"]);
  const slow = {
    name: "slow",
    on: {
      tool_result: () => {
        setImmediate(() => agent.abort());
        return new Promise<never>(() => {});
      },
    },
  };
  const agent = session({ model, tools: [tool("send", () => "sent")], extensions: [slow] });
  await expect(agent.invoke("x")).rejects.toMatchObject({ code: "CANCELLED" });
  await agent.invoke("go on");
  expect(model.calls[1]?.request.messages[3]).toEqual({
    role: "tool",
    toolCallId: "a",
    name: "send",
    content: "sent",
  });
});

it("turns leave no listener on the caller's signal, whatever comes of them", async () => {
  const model = scriptedModel(["one", new Error("no"), "three", "a summary"]);
  const agent = session({ model, retry: false });
  const { signal } = new AbortController();
  await agent.invoke("1", { signal });
  await expect(agent.invoke("2", { signal })).rejects.toThrow("no");
  const running = agent.invoke("3", { signal });
  await expect(agent.invoke("busy", { signal })).rejects.toMatchObject({ code: "INVALID_VALUE" });
  await running;
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
