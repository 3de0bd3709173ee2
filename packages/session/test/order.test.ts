import { ProviderError } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { recorder, session, tool } from "./support.ts";

const overloaded = (): ProviderError => new ProviderError({ kind: "OVERLOADED", message: "busy" });
const overflow = (): ProviderError => new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long" });

it("O3: the order of a good turn with a tool", async () => {
  const log: string[] = [];
  const guardrail = {
    name: "guard",
    onTurnStart: () => void log.push("guardrail turn start"),
    beforeCall: () => undefined,
  };
  const model = scriptedModel([{ toolCalls: [{ name: "add", arguments: {} }] }, "Done."]);
  const tools = [tool("add", () => "3")];
  const agent = session({ model, tools, extensions: [recorder(log)], guardrails: [guardrail] });
  const result = await agent.invoke("Add.");
  expect(result).toEqual({ status: "completed", output: "Done.", stopReason: "done" });
  expect(log).toEqual([
    "guardrail turn start",
    "input",
    "before_agent_start",
    "context",
    "message_end user",
    "message_end assistant",
    "tool_call",
    "tool_result",
    "message_end tool",
    "message_end assistant",
    "agent_end completed",
    "save_point",
    "settled",
  ]);
});

it("O3, O15: the order of a turn that is tried again", async () => {
  const log: string[] = [];
  const model = scriptedModel([overloaded(), overloaded(), "Here."]);
  await session({ model, extensions: [recorder(log)] }).invoke("Hello");
  expect(log.slice(3)).toEqual([
    "message_end user",
    "retry_start",
    "retry_end false",
    "retry_start",
    "message_end assistant",
    "retry_end true",
    "agent_end completed",
    "save_point",
    "settled",
  ]);
});

it("O15: a call that was tried again and answered has succeeded, whatever a later call of the turn comes to", async () => {
  const log: string[] = [];
  const model = scriptedModel([overloaded(), { toolCalls: [{ name: "look" }] }, overloaded(), "Here."]);
  await session({ model, tools: [tool("look", () => "seen")], extensions: [recorder(log)] }).invoke("Hello");
  expect(log.filter((event) => event.startsWith("retry"))).toEqual([
    "retry_start",
    "retry_end true",
    "retry_start",
    "retry_end true",
  ]);
});

it("O15: a retry that has begun also ends if the turn is halted", async () => {
  const log: string[] = [];
  const model = scriptedModel([overloaded(), { toolCalls: [{ name: "look" }] }]);
  const halting = { name: "halting", beforeCall: () => ({ action: "halt", reason: "no" }) as const };
  const agent = session({
    model,
    tools: [tool("look", () => "seen")],
    guardrails: [halting],
    extensions: [recorder(log)],
  });
  await expect(agent.invoke("Hello")).rejects.toMatchObject({ code: "MIDDLEWARE_TERMINATION" });
  expect(log.filter((event) => event.startsWith("retry"))).toEqual(["retry_start", "retry_end true"]);
});

it("O3, O12: the order of a turn that overflows, is compacted and goes on", async () => {
  const log: string[] = [];
  const model = scriptedModel(["First.", overflow(), "Second."]);
  const compaction = { name: "last", compact: (messages: readonly object[]) => messages.slice(-1) } as never;
  const agent = session({ model, extensions: [recorder(log)], compaction });
  await agent.invoke("one");
  log.length = 0;
  await agent.invoke("two");
  expect(log.slice(3)).toEqual([
    "message_end user",
    "retry_start",
    "session_before_compact",
    "session_compact",
    "context",
    "message_end assistant",
    "retry_end true",
    "agent_end completed",
    "save_point",
    "settled",
  ]);
  expect(model.calls[2]?.request.messages.map(({ role }) => role)).toEqual(["system", "user"]);
});

it("O3: the order of a turn that is aborted; the session is kept and goes on", async () => {
  const log: string[] = [];
  const model = scriptedModel([
    { when: "Wait.", answer: { text: "never", fault: { type: "hang" } } },
    { when: "Go on.", answer: "Back." },
  ]);
  const agent = session({ model, extensions: [recorder(log)] });
  const events = agent.events();
  const turn = agent.invoke("Wait.");
  for await (const event of events) if (event.type === "step") break;
  agent.abort("enough");
  await expect(turn).rejects.toMatchObject({ code: "CANCELLED", reason: "enough" });
  expect(log).toEqual([
    "input",
    "before_agent_start",
    "context",
    "message_end user",
    "agent_end aborted",
    "settled",
  ]);
  expect((await agent.invoke("Go on.")).output).toBe("Back.");
  expect(model.calls.at(-1)?.request.messages.slice(1)).toEqual([
    { role: "user", content: "Wait." },
    { role: "user", content: "Go on." },
  ]);
});

it("O3: the order of a turn whose attempts have all failed", async () => {
  const log: string[] = [];
  const model = scriptedModel(() => overloaded());
  const agent = session({ model, extensions: [recorder(log)], retry: { maxRetries: 1, baseDelayMs: 0 } });
  await expect(agent.invoke("Hello")).rejects.toMatchObject({ kind: "OVERLOADED" });
  expect(log.slice(3)).toEqual([
    "message_end user",
    "retry_start",
    "retry_end false",
    "agent_end failed",
    "settled",
  ]);
});

it("O3: a tool of the session wins over an extension's of the same name", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "who", arguments: {} }] }, "ok"]);
  const extension = { name: "x", tools: [tool("who", () => "extension"), tool("more", () => "")] };
  const agent = session({ model, tools: [tool("who", () => "built in")], extensions: [extension] });
  await agent.invoke("who?");
  expect(model.calls[1]?.request.messages.at(-1)).toMatchObject({ role: "tool", content: "built in" });
  expect(model.calls[0]?.request.tools?.map(({ name }) => name)).toEqual(["who", "more"]);
});
