import { bareContext } from "@ravi/kernel/loop";
import type { SessionAgent } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { recorder, session, tool } from "./support.ts";

it("O19: a steering message is heard between two model calls of the running turn", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "work", arguments: {}, id: "a" }] }, "As you wish."]);
  const agent = session({ model, tools: [tool("work", () => agent.steer("Use metres."))] });
  expect((await agent.invoke("Measure it.")).output).toBe("As you wish.");
  expect(model.calls[1]?.request.messages.slice(-2)).toEqual([
    { role: "tool", toolCallId: "a", name: "work", content: "" },
    { role: "user", content: "Use metres." },
  ]);
});

it("O19: what is steered while the model answers is heard before the turn ends", async () => {
  const log: string[] = [];
  const model = scriptedModel((_, n) => {
    if (n === 0) agent.steer("And in feet?");
    return n === 0 ? "3 m." : "9.8 ft.";
  });
  const agent = session({ model, extensions: [recorder(log)] });
  expect((await agent.invoke("How high?")).output).toBe("9.8 ft.");
  expect(log.filter((event) => event.startsWith("agent_end"))).toHaveLength(1);
});

it("O3, O19: a follow-up begins another turn; settled comes once, after the last", async () => {
  const log: string[] = [];
  const model = scriptedModel((_, n) => {
    if (n === 0) agent.followUp("Second.");
    return `answer ${n}`;
  });
  const agent = session({ model, extensions: [recorder(log)] });
  expect((await agent.invoke("First.")).output).toBe("answer 1");
  expect(log.filter((event) => /^(input|agent_end|save_point|settled)/.test(event))).toEqual([
    "input",
    "agent_end completed",
    "save_point",
    "input",
    "agent_end completed",
    "save_point",
    "settled",
  ]);
});

it("what is said while `settled` is told is still heard", async () => {
  let isFirst = true;
  const model = scriptedModel((_, n) => `answer ${n}`);
  const settled = (): void => {
    if (isFirst) agent.followUp("One more thing.");
    isFirst = false;
  };
  const agent = session({ model, extensions: [{ name: "x", on: { settled } }] });
  expect((await agent.invoke("First.")).output).toBe("answer 1");
});

it("pictures and files come with what is steered and what follows, also without a word", async () => {
  const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
  const model = scriptedModel((_, n) => {
    if (n === 0) agent.steer("And this?", { attachments: [picture] });
    if (n === 1) agent.followUp("", { attachments: [picture] });
    if (n === 2) agent.followUp("Thanks.");
    return `answer ${n}`;
  });
  const agent = session({ model });
  expect((await agent.invoke("Look.")).output).toBe("answer 3");
  const said = model.calls[3]?.request.messages.filter(({ role }) => role === "user");
  expect(said?.map(({ content }) => content)).toEqual([
    "Look.",
    [picture, { type: "text", text: "And this?" }],
    [picture],
    "Thanks.",
  ]);
});

it("what comes with a message is checked, and given back with it by an abort", async () => {
  const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
  const agent = session({
    model: scriptedModel(() => {
      expect(() => agent.steer("x", { attachments: ["a picture"] as never })).toThrow(
        /^steer options\.attachments\[0\] is "a picture"/,
      );
      expect(() => agent.followUp("x", { picture } as never)).toThrow("followUp options");
      expect(() => agent.followUp(" ")).toThrow("a non-empty string");
      agent.followUp("Later.", { attachments: [picture] });
      return { text: "", fault: { type: "hang" } };
    }),
  });
  const turn = agent.invoke("x").catch((error: unknown) => error);
  while (!agent.hasPendingMessages()) await new Promise(setImmediate);
  expect(agent.abort()).toEqual([{ kind: "followUp", text: "Later.", attachments: [picture] }]);
  await turn;
});

it("an idle session takes no steering: the words would be lost", async () => {
  const agent = session({ model: scriptedModel(["x"]) });
  expect(() => agent.steer("hello?")).toThrow("start one with invoke()");
  await agent.invoke("Hello");
  expect(() => agent.followUp("hello?")).toThrow("start one with invoke()");
});

it("a turn that fails keeps its follow-ups for the next; an abort gives them back", async () => {
  const model = scriptedModel((_, n) => {
    if (n === 0) agent.followUp("Later.");
    return n === 0 ? new TypeError("broken") : `answer ${n}`;
  });
  const agent = session({ model });
  await expect(agent.invoke("First.")).rejects.toThrow("broken");
  expect(agent.hasPendingMessages()).toBe(true);
  expect((await agent.invoke("Second.")).output).toBe("answer 2");
  const hanging = session({
    model: scriptedModel(() => {
      hanging.followUp("Later.");
      return { text: "", fault: { type: "hang" } };
    }),
  });
  const turn = hanging.invoke("x").catch((error: unknown) => error);
  while (!hanging.hasPendingMessages()) await new Promise(setImmediate);
  expect(hanging.abort()).toEqual([{ kind: "followUp", text: "Later." }]);
  expect(await turn).toMatchObject({ code: "CANCELLED" });
});

it("O13, O19: what waits for the next turn of a session is not said in another one", async () => {
  let isDown = true;
  const model = scriptedModel(({ messages }) => {
    if (isDown) agent.followUp("For Ann only.");
    return isDown ? new Error("down") : `heard ${String(messages.at(-1)?.content)}`;
  });
  const agent: SessionAgent = session({ model, sessionId: "ann", retry: false });
  await expect(agent.invoke("I am Ann.")).rejects.toThrow("down");
  isDown = false;
  expect(agent.hasPendingMessages()).toBe(true);
  await agent.switchSession("bob");
  expect(agent.hasPendingMessages()).toBe(false);
  expect(agent.abort()).toEqual([]);
  expect((await agent.invoke("I am Bob.")).output).toBe("heard I am Bob.");
  await agent.newSession();
  expect((await agent.invoke("I am Carl.")).output).toBe("heard I am Carl.");
  await agent.switchSession("ann");
  expect(agent.hasPendingMessages()).toBe(true);
  expect((await agent.invoke("It is me.")).output).toBe("heard For Ann only.");
  expect(agent.hasPendingMessages()).toBe(false);
});

it("under any context the inbox steers, begins turns and is answered", async () => {
  const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
  const model = scriptedModel((_, n) => `answer ${n}`);
  const agent = session({ model });
  const ctx = bareContext({ agent });
  const inbox = ctx.inbox("First.");
  const steered = inbox.send("user", "plain words steer");
  const followed = inbox.send("user", { followUp: "Second." }, [picture]);
  expect((await agent.run(ctx, inbox)).output).toBe("answer 1");
  expect(await inbox.replyTo(steered)).toBe("answer 0");
  expect(await inbox.replyTo(followed)).toBe("answer 1");
  expect(model.calls[0]?.request.messages.slice(1)).toEqual([
    { role: "user", content: "First." },
    { role: "user", content: "plain words steer" },
  ]);
  expect(model.calls[1]?.request.messages.at(-1)).toEqual({
    role: "user",
    content: [picture, { type: "text", text: "Second." }],
  });
});

it("a turn that is cut off begins nothing more; its follow-ups wait for the next", async () => {
  const model = scriptedModel((_, n) => {
    if (n === 0) agent.followUp("Later.");
    return n === 0 ? { text: "half", finishReason: "length" } : `answer ${n}`;
  });
  const agent = session({ model });
  expect(await agent.invoke("First.")).toMatchObject({ status: "partial", output: "half" });
  expect(agent.hasPendingMessages()).toBe(true);
  expect((await agent.invoke("Second.")).output).toBe("answer 2");
  expect(agent.hasPendingMessages()).toBe(false);
});

it("an abort gives back also what the turn has read and not begun", async () => {
  const call = { toolCalls: [{ name: "work", arguments: {} }] };
  const model = scriptedModel((_, n) => (n === 0 ? call : { text: "", fault: { type: "hang" } }));
  const work = tool("work", () => agent.followUp("Later."));
  const agent = session({ model, tools: [work] });
  const turn = agent.invoke("x").catch((error: unknown) => error);
  while (model.calls.length < 2) await new Promise(setImmediate);
  expect(agent.hasPendingMessages()).toBe(true);
  expect(agent.abort()).toEqual([{ kind: "followUp", text: "Later." }]);
  expect(await turn).toMatchObject({ code: "CANCELLED" });
  expect(agent.hasPendingMessages()).toBe(false);
});
