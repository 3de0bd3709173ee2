import { type AgentEvent, AgentId, type ExecId, type RunEvent } from "@ravi/sdk";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { UiMessage, type UiPart } from "../src/ui-messages.ts";
import { type Client, events, serve } from "./client.ts";

/** The chunks of the protocol that may come, as the AI SDK (7) checks them: no field more, and none of another type. */
const id = { id: z.string() };
const call = { toolCallId: z.string() };
const chunk = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("start"), messageId: z.string() }),
  z.strictObject({ type: z.enum(["start-step", "finish-step"]) }),
  z.strictObject({ type: z.enum(["text-start", "text-end", "reasoning-start", "reasoning-end"]), ...id }),
  z.strictObject({ type: z.enum(["text-delta", "reasoning-delta"]), delta: z.string(), ...id }),
  z.strictObject({
    type: z.literal("tool-input-available"),
    toolName: z.string(),
    input: z.unknown(),
    ...call,
  }),
  z.strictObject({
    type: z.literal("tool-input-error"),
    toolName: z.string(),
    input: z.unknown(),
    errorText: z.string(),
    ...call,
  }),
  z.strictObject({ type: z.literal("tool-approval-request"), approvalId: z.string(), ...call }),
  z.strictObject({ type: z.literal("tool-output-available"), output: z.unknown(), ...call }),
  z.strictObject({ type: z.literal("tool-output-error"), errorText: z.string(), ...call }),
  z.strictObject({
    type: z.enum(["data-progress", "data-restarted"]),
    data: z.unknown(),
    transient: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal("error"), errorText: z.string() }),
  z.strictObject({ type: z.literal("abort"), reason: z.string() }),
  z.strictObject({ type: z.literal("finish"), messageMetadata: z.unknown().optional() }),
]);

/** Reads a response as `useChat` does. */
async function read(response: Response): Promise<{ readonly parts: UiPart[]; readonly isDone: boolean }> {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  const data: string[] = [];
  for await (const event of events(response)) data.push(event.data);
  const isDone = data.at(-1) === "[DONE]";
  const parts = (isDone ? data.slice(0, -1) : data).map((text) => chunk.parse(JSON.parse(text)) as UiPart);
  return { parts, isDone };
}

const send = (client: Client, body: object): Promise<Response> =>
  fetch(`${client.url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const user = (text: string) => ({ id: "u", role: "user", parts: [{ type: "text", text }] });

const textOf = (parts: readonly UiPart[]): string =>
  parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");

/** Without repeated neighbours, so without how an answer is cut into pieces. */
const typesOf = (parts: readonly UiPart[]): string[] =>
  parts.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);

describe("over HTTP, for useChat", () => {
  test("an answer with a tool", async () => {
    const client = await serve();
    const { parts, isDone } = await read(
      await send(client, { id: "tea", messages: [user("what time is it")] }),
    );
    expect(isDone).toBe(true);
    expect(typesOf(parts)).toEqual([
      "start",
      "start-step",
      "tool-input-available",
      "tool-output-available",
      "finish-step",
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect(parts).toContainEqual({
      type: "tool-input-available",
      toolCallId: "call_0",
      toolName: "clock",
      input: {},
    });
    expect(textOf(parts)).toMatch(/^Done: \d\d:\d\d:\d\d\.$/);
    expect(parts[0]).toEqual({ type: "start", messageId: "tea:0" });
    expect(parts.at(-1)).toEqual({ type: "finish", messageMetadata: { status: "completed" } });
  });

  test("two approvals: the response ends when both were asked for, and the next one continues the message", async () => {
    const client = await serve();
    const first = await read(await send(client, { id: "tea", messages: [user("book two tables")] }));
    expect(first.isDone).toBe(true);
    expect(typesOf(first.parts)).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "tool-input-available",
      "tool-approval-request",
      "finish-step",
      "finish",
    ]);
    const asked = first.parts.filter((part) => part.type === "tool-approval-request");
    expect(asked.map(({ toolCallId }) => toolCallId)).toEqual(["call_0", "call_1"]);
    // Loaded again while it waits: the same.
    const again = await read(await fetch(`${client.url}/api/chat/tea/stream`));
    expect(again).toEqual(first);
    const answers = asked.map(({ toolCallId, approvalId }, at) => ({
      type: "tool-book_table",
      toolCallId,
      state: "approval-responded",
      input: {},
      approval: { id: approvalId, approved: at === 0, reason: "one is enough" },
    }));
    const messages = [user("book two tables"), { id: "tea:0", role: "assistant", parts: answers }];
    const second = await read(await send(client, { id: "tea", messages }));
    expect(second.isDone).toBe(true);
    expect(second.parts[0]).toEqual({ type: "start", messageId: "tea:0" });
    expect(second.parts).toContainEqual({
      type: "tool-output-available",
      toolCallId: "call_0",
      output: expect.stringContaining("booked for 2 at 19:00") as string,
    });
    expect(second.parts).toContainEqual({
      type: "tool-output-error",
      toolCallId: "call_1",
      errorText: "error: book_table was not approved: one is enough",
    });
    expect(typesOf(second.parts).slice(-6)).toEqual([
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect((await send(client, { id: "tea", messages })).status).toBe(409);
    expect((await fetch(`${client.url}/api/chat/tea/stream`)).status).toBe(204);
  });

  test("who loads the page again in the middle gets the message from its beginning", async () => {
    const client = await serve();
    const first = send(client, { id: "tea", messages: [user("count to 30")] });
    const response = await first;
    const second = read(await fetch(`${client.url}/api/chat/tea/stream`));
    const heard = await read(response);
    expect(await second).toEqual(heard);
    expect(textOf(heard.parts)).toBe(Array.from({ length: 30 }, (_, at) => at + 1).join(" "));
  });

  test("a turn that is stopped ends as aborted", async () => {
    const client = await serve();
    const reading = send(client, { id: "tea", messages: [user("count to 9000")] }).then(read);
    let runId: string | null = null;
    while (runId === null) ({ runId } = await client.chat("tea"));
    await client.post(`/api/runs/${runId}/stop`, {});
    const { parts, isDone } = await reading;
    expect(isDone).toBe(true);
    expect(typesOf(parts).slice(-2)).toEqual(["abort", "finish"]);
  });
});

describe("from the events of a run", () => {
  const told = (list: readonly (AgentEvent | readonly [string, AgentEvent])[]): UiPart[] => {
    const message = new UiMessage("r", new Set(["pay"]));
    return list.flatMap((each, at) => {
      const [exec, event] = "type" in each ? (["r", each] as const) : each;
      const from: RunEvent = { seq: at + 1, at: 0, agentId: AgentId("a"), execId: exec as ExecId, event };
      return message.push(from).map((part) => chunk.parse(part) as UiPart);
    });
  };
  const ended = (output: string): AgentEvent => ({
    type: "completed",
    result: { status: "completed", output, stopReason: "done" },
  });
  const called = (callId: string, name: string, text: string): AgentEvent => ({
    type: "toolCall",
    call: { id: callId, name, arguments: text },
  });
  const resulted = (callId: string, content: string): AgentEvent => ({
    type: "toolResult",
    callId,
    name: "look",
    content,
    isError: false,
  });

  test("thoughts and text are separate parts, each with an id of its own", () => {
    const parts = told([
      { type: "step", step: 1 },
      { type: "reasoning", delta: "hm" },
      { type: "text", delta: "a" },
      { type: "text", delta: "b" },
      ended("ab"),
    ]);
    expect(parts.slice(1, -2)).toEqual([
      { type: "reasoning-start", id: "reasoning-1" },
      { type: "reasoning-delta", id: "reasoning-1", delta: "hm" },
      { type: "reasoning-end", id: "reasoning-1" },
      { type: "text-start", id: "text-2" },
      { type: "text-delta", id: "text-2", delta: "a" },
      { type: "text-delta", id: "text-2", delta: "b" },
      { type: "text-end", id: "text-2" },
    ]);
  });

  test("an answer that was not streamed comes at the end, once", () => {
    expect(textOf(told([{ type: "step", step: 1 }, ended("all")]))).toBe("all");
    expect(textOf(told([{ type: "text", delta: "all" }, ended("all")]))).toBe("all");
    expect(told([ended("")])).toEqual([{ type: "finish", messageMetadata: { status: "completed" } }]);
  });

  test("what helpers write is not shown; what they call is, also under an id that was used before", () => {
    const parts = told([
      called("call_0", "handoff_helper", "{}"),
      ["r/hire:h#1", { type: "text", delta: "secret" }],
      ["r/hire:h#1", called("call_0", "look", '{"at":1}')],
      ["r/hire:h#1", resulted("call_0", "seen")],
      ["r/hire:h#1", ended("secret")],
      resulted("call_0", "done"),
      called("call_0", "look", ""),
      resulted("call_0", "again"),
      resulted("call_9", "of no call"),
    ]);
    expect(textOf(parts)).toBe("");
    expect(parts.map((part) => ("toolCallId" in part ? [part.type, part.toolCallId] : part))).toEqual([
      ["tool-input-available", "call_0"],
      ["tool-input-available", "call_0#2"],
      ["tool-output-available", "call_0#2"],
      ["tool-output-available", "call_0"],
      ["tool-input-available", "call_0#3"],
      ["tool-output-available", "call_0#3"],
    ]);
  });

  test("arguments that are no JSON, an answer that is told again, a failure, and other progress", () => {
    const error = {
      code: "PROVIDER_ERROR",
      name: "E",
      message: "no",
      retryable: false,
      fields: {},
      cause: null,
    };
    const parts = told([
      { type: "step", step: 1 },
      { type: "text", delta: "half" },
      { type: "progress", name: "answerRestarted", data: {} },
      called("c", "look", '{"at":'),
      { type: "progress", name: "rows", data: { done: 1 }, callId: "c" },
      { type: "error", error: { ...error, code: "PROVIDER_ERROR" } },
    ]);
    expect(parts.slice(3)).toEqual([
      { type: "text-end", id: "text-1" },
      { type: "data-restarted", data: { id: "text-1" } },
      {
        type: "tool-input-error",
        toolCallId: "c",
        toolName: "look",
        input: '{"at":',
        errorText: expect.stringContaining("JSON") as string,
      },
      {
        type: "data-progress",
        data: { name: "rows", data: { done: 1 }, toolCallId: "c" },
        transient: true,
      },
      { type: "finish-step" },
      { type: "error", errorText: "no" },
      { type: "finish", messageMetadata: { status: "failed" } },
    ]);
  });

  test("it waits only when all calls that need approval were asked about and one has no result", () => {
    const message = new UiMessage("r", new Set(["pay"]));
    const push = (event: AgentEvent): boolean => {
      message.push({ seq: 1, at: 0, agentId: AgentId("a"), execId: "r" as ExecId, event });
      return message.isWaiting;
    };
    const ask = (callId: string): AgentEvent => ({
      type: "progress",
      name: "approvalRequested",
      data: { name: `may ${callId}` },
      callId,
    });
    expect([
      push(called("a", "pay", "{}")),
      push(called("b", "pay", "{}")),
      push(called("c", "look", "{}")),
    ]).toEqual([false, false, false]);
    expect([push(ask("a")), push(ask("b"))]).toEqual([false, true]);
    expect([push(resulted("a", "")), push(resulted("b", ""))]).toEqual([true, false]);
  });
});
