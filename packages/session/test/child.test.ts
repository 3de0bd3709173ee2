import { bareContext } from "@ravi/kernel/loop";
import type { Guardrail } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { recorder, session, tool } from "./support.ts";

it("O16: a child has the same prompt bytes and the full tool list; its allow-list is enforced at dispatch", async () => {
  const model = scriptedModel([
    "Hello.",
    {
      toolCalls: [
        { name: "write", arguments: {}, id: "a" },
        { name: "read", arguments: {}, id: "b" },
      ],
    },
    "Reviewed.",
  ]);
  let writes = 0;
  const tools = [tool("read", () => "text"), tool("write", () => ++writes)];
  const extension = { name: "x", on: { before_agent_start: () => ({ systemPrompt: "Replaced." }) } };
  const agent = session({ model, tools, extensions: [extension], sessionId: "parent" });
  await agent.invoke("Hi");
  const before = agent.sessionManager.entries().length;
  const child = agent.spawnChild({ tools: ["read"] });
  expect((await child.invoke("Review it.")).output).toBe("Reviewed.");
  const [first, second, third] = model.calls;
  expect(second?.request.messages[0]).toEqual(first?.request.messages[0]);
  expect(second?.request.tools).toEqual(first?.request.tools);
  expect(third?.request.messages.slice(-2)).toMatchObject([
    {
      content: "error: write is not allowed here; of the listed tools, these are allowed: read",
      isError: true,
    },
    { content: "text" },
  ]);
  expect(writes).toBe(0);
  expect(agent.sessionManager.entries()).toHaveLength(before);
});

it("O16: a child that is spawned before the first turn has the parent's session in its prompt", async () => {
  const model = scriptedModel(() => "ok");
  const agent = session({ model, sessionId: "parent" });
  await agent.spawnChild().invoke("x");
  await agent.invoke("y");
  expect(model.calls[0]?.request.messages[0]).toEqual(model.calls[1]?.request.messages[0]);
  expect(String(model.calls[0]?.request.messages[0]?.content)).toContain("Session ID: parent");
});

it("O16: a child has no extensions, no live state and no compaction", async () => {
  const log: string[] = [];
  let looks = 0;
  const model = scriptedModel(() => "x".repeat(1_000));
  const agent = session({
    model,
    extensions: [recorder(log)],
    ephemeral: [{ name: "screen", look: () => `${++looks}` }],
    compaction: { strategy: { compact: () => [] }, contextWindow: 100 },
  });
  const child = agent.spawnChild();
  await child.invoke("x");
  expect([log, looks]).toEqual([[], 0]);
  expect(child.sessionManager.entries().some(({ kind }) => kind === "compaction")).toBe(false);
});

it("O16: guardrails are inherited; a shared one is not told of the child's turns, a made one counts by itself", async () => {
  const starts: string[] = [];
  const shared: Guardrail = {
    name: "shared",
    onTurnStart: () => void starts.push("shared"),
    beforeCall: () => ({ action: "block", reason: "inherited" }),
  };
  const made = (): Guardrail => ({
    name: "made",
    onTurnStart: () => void starts.push("made"),
    afterCall: () => undefined,
  });
  const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, "ok"]);
  const agent = session({ model, tools: [tool("look", () => "seen")], guardrails: [shared, made] });
  await agent.spawnChild().invoke("x");
  expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("error: inherited");
  expect(starts).toEqual(["made"]);
});

it("O16: an allow-list that names a tool which is not there is an error", async () => {
  const child = session({ model: scriptedModel(["x"]) }).spawnChild({ tools: ["nothing"] });
  await expect(child.invoke("x")).rejects.toMatchObject({
    code: "INVALID_VALUE",
    message: expect.stringContaining("nothing"),
  });
});

it("a child can be hired, and the model can hand work to children", async () => {
  const model = scriptedModel([
    {
      toolCalls: [
        { name: "reviewer", arguments: { task: "Look at A." } },
        { name: "reviewer", arguments: { task: "Look at B." } },
      ],
    },
    "fine",
    "fine too",
    "Both are fine.",
  ]);
  const agent = session({ model, children: [{ name: "reviewer", description: "Reviews.", tools: [] }] });
  expect((await agent.invoke("Review both.")).output).toBe("Both are fine.");
  expect(model.calls[3]?.request.messages.slice(-2).map(({ content }) => content)).toEqual([
    "fine",
    "fine too",
  ]);

  const parent = session({ model: scriptedModel(["hired"]) });
  const outcome = await bareContext().hire({ agent: parent.spawnChild(), input: "Work." });
  expect(outcome).toMatchObject({ status: "completed", result: { output: "hired" } });
});

it("a hired child may use the session's tools, but not hand its work on", async () => {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.content === "Go") return { toolCalls: [{ name: "helper", arguments: { task: "Do it." } }] };
    if (last?.content === "Do it.")
      return {
        toolCalls: [
          { name: "look", arguments: {} },
          { name: "helper", arguments: { task: "You do it." } },
        ],
      };
    return messages
      .filter(({ role }) => role === "tool")
      .map(({ content }) => content)
      .join(" / ");
  });
  const agent = session({
    model,
    tools: [tool("look", () => "seen")],
    children: [{ name: "helper", description: "Helps." }],
  });
  expect((await agent.invoke("Go")).output).toBe(
    "seen / error: helper is not allowed here; of the listed tools, these are allowed: look",
  );
});

it("O16: what a child may not call, its own children may not call either", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "write", arguments: {}, id: "a" }] }, "ok"]);
  const agent = session({ model, tools: [tool("read", () => 1), tool("write", () => 2)] });
  const grandchild = agent.spawnChild({ tools: ["read"] }).spawnChild({ tools: ["read", "write"] });
  await grandchild.invoke("x");
  expect(model.calls[1]?.request.messages.at(-1)).toMatchObject({
    isError: true,
    content: expect.stringContaining("is not allowed here"),
  });
});

it("O16: the layers around calls are inherited; those around a run are the parent's alone", async () => {
  const layer = () => ({ isNoop: false, admit: () => {}, run: async () => {} });
  const [chat, each, run] = [layer(), layer(), layer()];
  const model = scriptedModel(["x"]);
  const child = session({ model, middleware: { agent: run, chat, function: each } }).spawnChild();
  expect(child.pipelines).toEqual({ chat, function: each });
  expect(child.spawnChild().pipelines).toEqual({ chat, function: each });
  // Nothing would call them.
  await expect(child.invoke("x")).rejects.toMatchObject({ code: "INVALID_VALUE" });
  expect(model.calls).toEqual([]);
  expect(session({ model }).spawnChild().pipelines).toBeUndefined();
});
