import { expect } from "vitest";
import { type Agent, type AgentEvent, type RunEvent, textOf } from "@ravi/kernel";
import { offered } from "../case.ts";
import { scriptedModel } from "../../scripted-model.ts";
import {
  agent,
  call,
  done,
  outputOf,
  type RuntimeCase,
  type RuntimeUnderTest,
  say,
  tool,
  until,
  untilWaiting,
  word,
} from "./stage.ts";

const RECORD = { says: "a case about the record" } as const;

/** What is on record, in short, of each execution in its own order: those of several work at the same time. */
async function recorded(runtime: RuntimeUnderTest, runId: string): Promise<Record<string, string[]>> {
  const events = await offered(runtime, "recordedEvents", RECORD).call(runtime, runId);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  const told: Record<string, string[]> = {};
  for (const { agentId, execId, event } of events) (told[`${agentId} ${execId}`] ??= []).push(inShort(event));
  return told;
}

function inShort(event: AgentEvent): string {
  const { type } = event;
  if (event.type === "started") return `${type} ${event.input}`;
  if (event.type === "text" || event.type === "reasoning") return `${type} ${event.delta}`;
  if (event.type === "usage") return `${type} ${event.usage.outputTokens}`;
  if (event.type === "toolCall") return `${type} ${event.call.id} ${event.call.name}`;
  if (event.type === "handoff") return `${type} ${event.to} ${event.task}`;
  if (event.type === "error") return `${type} ${event.error.code}`;
  if (event.type === "completed") return `${type} ${event.result.status} ${event.result.output}`;
  if (event.type === "progress") return `${type} ${event.name} ${JSON.stringify(event.data)}`;
  if (event.type !== "toolResult") return type;
  return `${type} ${event.callId} ${event.name} ${textOf(event)} ${event.isError}`;
}

/** A lead with a helper that talks, calls tools and thinks aloud, and one that fails. */
function talkingTree(): { readonly lead: Agent; readonly agents: readonly Agent[] } {
  const usage = { inputTokens: 1, outputTokens: 2 };
  const model = scriptedModel(
    [
      { text: "Let me look.", reasoning: "hm", toolCalls: [call("price")], usage },
      { text: "quiet", usage },
      { text: "It is dear.", usage },
    ],
    { chunkSize: 3 },
  );
  const price = tool("price", () => "$4", { idempotent: true });
  const broken = tool("broken", () => Promise.reject(new Error("out of order")), { idempotent: true });
  const helper = agent("helper", async (ctx) => {
    await ctx.llm(model, say("look"));
    await ctx.batch([
      { kind: "tool", call: call("price"), tool: price },
      { kind: "tool", call: { ...call("broken"), id: "c2" }, tool: broken },
    ]);
    await ctx.llm(model, say("think"), { quiet: true });
    return done(textOf((await ctx.llm(model, say("say"))).message));
  });
  const idle = agent("idle", async () => {
    throw new TypeError("no");
  });
  const lead = agent("lead", async (ctx, inbox) => {
    const outcomes = await ctx.batch([
      { kind: "hire", agent: helper, input: `about ${inbox.input}` },
      { kind: "hire", agent: idle, input: "do nothing" },
    ]);
    return done(outcomes.map(outputOf).join(" "));
  });
  return { lead, agents: [lead, helper, idle] };
}

/** What the agents of that tree say and do. Of calls and hand-offs, observers are told by the loop of an agent, and these have none. */
function saidBy(runId: string, { isOnRecord }: { readonly isOnRecord: boolean }): Record<string, unknown[]> {
  const onRecord = (...said: unknown[]): unknown[] => (isOnRecord ? said : []);
  return {
    [`lead ${runId}`]: [
      "started cars",
      ...onRecord("handoff helper about cars", "handoff idle do nothing"),
      "completed completed It is dear. failed",
    ],
    [`idle/2 ${runId}/hire:idle#1`]: ["started do nothing", expect.stringMatching(/^error /)],
    [`helper/1 ${runId}/hire:helper#1`]: [
      "started about cars",
      "reasoning hm",
      "text Let me look.",
      "usage 2",
      ...onRecord(
        "toolCall c1 price",
        "toolResult c1 price $4 false",
        expect.stringMatching(/^toolResult .* broken .*out of order.* true$/s),
        'progress quietAnswer {"text":"quiet"}',
      ),
      "usage 2",
      "text It is dear.",
      "usage 2",
      "completed completed It is dear.",
    ],
  };
}

/** What observers were told, with the pieces of an answer as one. */
function saidIn(events: readonly RunEvent[]): Record<string, string[]> {
  const whole: Record<string, AgentEvent[]> = {};
  for (const { agentId, execId, event } of events) {
    const own = (whole[`${agentId} ${execId}`] ??= []);
    const last = own.at(-1);
    if (event.type === "toolArguments") continue;
    if ((event.type === "text" || event.type === "reasoning") && last?.type === event.type)
      own[own.length - 1] = { ...event, delta: last.delta + event.delta };
    else own.push(event);
  }
  return Object.fromEntries(Object.entries(whole).map(([who, own]) => [who, own.map(inShort)]));
}

/** What observers and `recordedEvents` are told of a run. */
export const recordCases: readonly RuntimeCase[] = [
  {
    rule: "J3",
    says: "observers are told what each agent of a tree says and does, in its own order and under its own name",
    async run({ create }) {
      const { lead, agents } = talkingTree();
      const runtime = await create({ agents });
      const handle = runtime.run(lead, "cars", { runId: "told-4" });
      const events = await Array.fromAsync(handle.events());
      await handle.result;
      expect(saidIn(events)).toEqual(saidBy("told-4", { isOnRecord: false }));
    },
  },
  {
    rule: "J3",
    needs: "record",
    says: "what a run has said and done can be read afterwards, where nobody knows its agents: whole answers, calls, hires and ends",
    async run({ create }) {
      const { lead, agents } = talkingTree();
      const runtime = await create({ agents });
      const { output, error } = await runtime.run(lead, "cars", { runId: "record-1" }).result;
      expect([output, error]).toEqual(["It is dear. failed", undefined]);
      const other = await create({ agents: [] });
      expect(await recorded(other, "record-1")).toEqual(saidBy("record-1", { isOnRecord: true }));
    },
  },
  {
    rule: "R24",
    needs: "record",
    says: "the record has each answer once and whole, also of a call that a crash has cut off in the middle; what is new comes at its end",
    async run({ create, crash }) {
      let goes = 0;
      const hung = Promise.withResolvers<void>();
      const model = scriptedModel(({ messages }) => textOf(messages[0] ?? { content: "" }), { chunkSize: 4 });
      const slow: typeof model = {
        ...model,
        async *stream(request) {
          const isFirst = ++goes === 1;
          for await (const event of model.stream(request)) {
            yield event;
            if (!isFirst || event.type !== "text") continue;
            hung.resolve();
            await new Promise(() => {});
          }
        },
      };
      const talker = agent("talker", async (ctx) => {
        await ctx.llm(model, say("before it"));
        await ctx.llm(slow, say("in the middle"));
        await ctx.waitFor("on");
        await ctx.llm(model, say("after it"));
        return done("said");
      });
      const setup = { agents: [talker] };
      const first = await create(setup);
      const handle = first.run(talker, "", { runId: "record-2" });
      handle.result.catch(() => {});
      // Answers are streamed if somebody listens.
      void Array.fromAsync(handle.events()).catch(() => {});
      await hung.promise;
      await crash(first);
      const second = await create(setup);
      const again = second.resume("record-2");
      await untilWaiting(again);
      const texts = async (): Promise<string[]> => {
        const { "talker record-2": told = [] } = await recorded(second, "record-2");
        return told.filter((each) => !each.startsWith("usage"));
      };
      const before = ["started ", "text before it", "text in the middle"];
      await until(async () => (await texts()).length >= before.length);
      expect(await texts()).toEqual(before);
      await second.deliver("record-2", "on", true);
      expect((await again.result).output).toBe("said");
      expect(await texts()).toEqual([...before, "text after it", "completed completed said"]);
    },
  },
  {
    rule: "R24",
    needs: "record",
    says: "the record has what somebody was asked to approve, once, and that a run has failed; a run that is not known has none",
    async run({ create, crash }) {
      const pay = tool("pay", () => "paid", { needsApproval: true });
      const payer = agent("payer", async (ctx) => {
        await ctx.tool(call("pay"), pay);
        throw new TypeError(word(await ctx.waitFor("word")));
      });
      const setup = { agents: [payer] };
      const first = await create(setup);
      await untilWaiting(first.run(payer, "", { runId: "record-3" }));
      await crash(first);
      const second = await create(setup);
      const again = second.resume("record-3");
      await second.deliver("record-3", "approval:record-3:tool:pay#1", true);
      await second.deliver("record-3", "word", "enough");
      expect((await again.result).status).toBe("failed");
      const { "payer record-3": told } = await recorded(second, "record-3");
      const question = { tool: "pay", callId: "c1", arguments: "{}" };
      const data = { name: "approval:record-3:tool:pay#1", question };
      const asked = (text: string): unknown =>
        text.startsWith("progress") ? JSON.parse(text.split(" ")[2] ?? "") : text;
      expect(told?.map(asked)).toEqual([
        "started ",
        data,
        expect.stringMatching(/^toolResult .* pay paid false$/),
        expect.stringMatching(/^error /),
      ]);
      await expect(recorded(second, "record-3-misspelt")).rejects.toMatchObject({
        code: "INVALID_VALUE",
        field: "runId",
      });
    },
  },
];
