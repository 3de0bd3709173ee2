import type { Guardrail } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { session, tool } from "./support.ts";

const asked = () =>
  scriptedModel([{ toolCalls: [{ name: "send", arguments: { to: "me" }, id: "a" }] }, "ok"]);

const JUNK: readonly unknown[] = [
  null,
  "block",
  7,
  {},
  { action: "deny", reason: "no" },
  { action: "block" },
  {
    get action() {
      throw new Error("do not look");
    },
  },
];

for (const [at, decision] of JUNK.entries())
  it(`O4, O17: a decision that is none (${at}) is the guardrail's error: the call is not made, and the turn goes on`, async () => {
    let sent = 0;
    const model = asked();
    const guardrail: Guardrail = { name: "junk", beforeCall: () => decision as never };
    const agent = session({ model, tools: [tool("send", () => ++sent)], guardrails: [guardrail] });
    expect((await agent.invoke("x")).output).toBe("ok");
    expect(sent).toBe(0);
    expect(agent.errors).toMatchObject([{ source: "junk", event: "beforeCall" }]);
    expect(model.calls[1]?.request.messages.at(-1)?.content).toContain("the guardrail junk failed");
  });

it("O17: a decision that is none about a result leaves the result as it is", async () => {
  const model = asked();
  const guardrail: Guardrail = { name: "junk", afterCall: () => ({ action: "deny" }) as never };
  const agent = session({ model, tools: [tool("send", () => "sent")], guardrails: [guardrail] });
  await agent.invoke("x");
  expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("sent");
  expect(agent.errors).toHaveLength(1);
});

it("O8, O9: nobody changes a call, a message or a result by writing into it", async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: "send", arguments: { to: "me" }, id: "a" }] },
    "ok",
    "again",
  ]);
  const given: unknown[] = [];
  const write = (target: object, key: string): void => {
    Object.assign(target, { [key]: "changed" });
  };
  const agent = session({
    model,
    tools: [
      tool("send", (args) => {
        given.push(args);
        return { parts: [1] };
      }),
    ],
    guardrails: [
      {
        name: "meddler",
        beforeCall: (made) => write(made, "arguments"),
        afterCall: (made) => write(made, "id"),
      },
    ],
    extensions: [
      {
        name: "meddler",
        on: {
          tool_call: ({ call }) => write(call, "arguments"),
          tool_result: ({ call }) => write(call, "id"),
          message_end: ({ message }) => {
            if (message.role !== "assistant" || message.toolCalls === undefined) return;
            for (const made of message.toolCalls) write(made, "id");
          },
          context: ({ messages }) => {
            for (const message of messages)
              if (message.role === "assistant")
                for (const made of message.toolCalls ?? []) write(made, "name");
          },
        },
      },
    ],
    loopDetection: false,
  });
  await agent.invoke("x");
  await agent.invoke("y");
  // A guardrail that fails before a call blocks it; the extension's attempt changed nothing.
  expect(given).toEqual([]);
  const history = await agent.sessionManager.messages();
  expect(history[1]).toMatchObject({ toolCalls: [{ id: "a", name: "send", arguments: '{"to":"me"}' }] });
  expect(model.calls[2]?.request.messages[2]).toEqual(history[1]);
  expect(agent.errors.length).toBeGreaterThan(3);
});
