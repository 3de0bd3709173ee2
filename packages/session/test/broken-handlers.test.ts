import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Extension, SessionEventName } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { problemWith } from "./prompt-check.ts";
import { EVENTS, folder, session, tool } from "./support.ts";

const working = () =>
  scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool" ? "ok" : { toolCalls: [{ name: "work", arguments: {}, id: "a" }] },
  );

/** JSON, and so a store, has nothing of the getters of a class. */
class Said {
  get role(): string {
    return "user";
  }
  get content(): string {
    return "s";
  }
  get type(): string {
    return "text";
  }
  get text(): string {
    return "s";
  }
}

/** What a handler may throw or give back by mistake. */
const MISTAKES: readonly (() => unknown)[] = [
  () => {
    // oxlint-disable-next-line typescript/only-throw-error -- anything can be thrown
    throw undefined;
  },
  () => Promise.reject(new Error("late")),
  () => null,
  () => 7,
  () => ({ content: [null], messages: [null], text: 7, systemPrompt: {}, block: "no", cancel: 1 }),
  () => ({
    content: [{ type: "text" }],
    messages: [{ role: "user", content: [{ type: "image" }] }],
    text: " ",
  }),
  () => ({ content: {}, messages: {}, isError: "yes", terminate: 1 }),
  () => ({ content: [new Said()], messages: [new Said()] }),
  () => ({ content: Object.assign([], { length: 1 }), messages: Object.assign([], { length: 1 }) }),
  () =>
    new Proxy(
      {},
      {
        get: () => {
          throw new Error("do not look");
        },
      },
    ),
];

for (const event of EVENTS)
  it(`O8: whatever a handler of ${event} throws or gives back, the turn goes on as without it`, async () => {
    for (const mistake of MISTAKES) {
      const model = working();
      const extension: Extension = { name: "bad", on: { [event]: () => mistake() as never } };
      const agent = session({ model, tools: [tool("work", () => "done")], extensions: [extension] });
      expect((await agent.invoke("x")).output).toBe("ok");
      const last = model.calls.at(-1)?.request.messages ?? [];
      expect(problemWith(last)).toBeUndefined();
      expect(last.slice(1).map(({ role, content }) => [role, content])).toEqual([
        ["user", "x"],
        ["assistant", ""],
        ["tool", "done"],
      ]);
      await agent.close();
    }
  });

for (const event of [
  "input",
  "context",
  "tool_call",
  "message_end",
  "agent_end",
  "settled",
] satisfies SessionEventName[])
  it(`O2, O13: a handler of ${event} that uses the session it is in is refused, and changes nothing`, async () => {
    const refused: string[] = [];
    const model = working();
    const agent = session({
      model,
      tools: [tool("work", () => "done")],
      sessionId: "s",
      extensions: [
        {
          name: "inside",
          on: {
            async [event]() {
              const tries = [
                agent.invoke("inner"),
                agent.newSession(),
                agent.switchSession("t"),
                agent.runCompaction(),
                agent.close(),
              ];
              for (const each of await Promise.allSettled(tries))
                refused.push(
                  each.status === "rejected" ? String(Reflect.get(each.reason as object, "code")) : "done",
                );
            },
          },
        },
      ],
    });
    expect((await agent.invoke("x")).output).toBe("ok");
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(new Set(refused)).toEqual(new Set(["INVALID_VALUE"]));
    expect(agent.sessionManager.sessionId).toBe("s");
    expect(await agent.sessionManager.messages()).toHaveLength(4);
  });

it("O5: a model that throws nothing at all fails the turn, once", async () => {
  const model = scriptedModel(() => {
    // oxlint-disable-next-line typescript/only-throw-error -- anything can be thrown
    throw undefined;
  });
  const agent = session({ model });
  const outcome = await agent.invoke("x").then(
    () => "answered",
    () => "failed",
  );
  expect(outcome).toBe("failed");
  expect(agent.isIdle()).toBe(true);
  expect(await agent.sessionManager.messages()).toEqual([]);
});

it("O11: a pipe in the place of MEMORY.md is not waited for", async () => {
  const directory = await folder();
  const makePipe = "mkfifo";
  execFileSync(makePipe, [join(directory, "MEMORY.md")]);
  const agent = session({ model: scriptedModel(() => "ok"), prompt: { directories: [directory] } });
  expect((await agent.invoke("x")).output).toBe("ok");
});
