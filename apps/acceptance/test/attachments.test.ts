import { ReAct, ReWOO, SelfRefine, StrategyAgent, Supervisor } from "@ravi/architectures";
import { MemoryHistory } from "@ravi/context";
import { ConditionalFlow, ParallelFlow, SequentialFlow } from "@ravi/flow";
import type { Agent, Architecture, Attachment, LLMClient, ModelRequest } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { MemorySessionStore, SessionAgent } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, test, vi } from "vitest";
import { seat, TWELVE } from "../src/architectures/twelve.ts";
import { anthropic } from "@ravi/provider-anthropic";
import { openai } from "@ravi/provider-openai";
import { ModelMeter } from "@ravi/resources";
import { governed } from "../src/leading.ts";

const picture = { type: "image", url: "data:image/png;base64,iVBORw0KGgo=", mediaType: "image/png" } as const;

const attachments = [picture];

const given = { attachments };

/** How often the picture is in a request. */
const pictures = ({ messages }: ModelRequest): number =>
  JSON.stringify(messages).split(picture.url).length - 1;

const seenBy = (model: { readonly calls: readonly { readonly request: ModelRequest }[] }): number[] =>
  model.calls.map(({ request }) => pictures(request));

const answers = (text: string) => scriptedModel(() => text);

const worker = (model: LLMClient, name = "worker"): Agent => new ReActAgent({ name, model });

describe("what came with the input is sent to the model", () => {
  test("of an agent, in each turn once", async () => {
    const model = scriptedModel(["One.", "Two."]);
    await new Runtime().run(worker(model), "What is this?", given).result;
    expect(seenBy(model)).toEqual([1]);
    expect(model.calls[0]?.request.messages).toEqual([
      { role: "user", content: [picture, { type: "text", text: "What is this?" }] },
    ]);
  });

  test("of every step of a flow", async () => {
    const model = answers("seen");
    const steps = [worker(model, "a"), worker(model, "b")];
    const flows: Agent[] = [
      new SequentialFlow({ name: "one-by-one", steps }),
      new ParallelFlow({ name: "at-once", branches: steps }),
      new ConditionalFlow({ name: "if", if: () => true, whenTrue: worker(model, "c") }),
    ];
    for (const flow of flows) await new Runtime().run(flow, "What is this?", given).result;
    expect(seenBy(model)).toEqual([1, 1, 1, 1, 1]);
  });

  test("of a session, in the turn that it came with and in all later ones", async () => {
    const model = answers("A cat.");
    const chat = new SessionAgent({ name: "chat", model, store: new MemorySessionStore() });
    await chat.invoke("What is this?", given);
    await chat.invoke("And what is it called?");
    expect(seenBy(model)).toEqual([1, 1]);
    await expect(chat.invoke("x", { attachments: [{ type: "image" } as never] })).rejects.toThrow(
      /invoke options\.attachments\[0\]\.url/,
    );
    await expect(chat.invoke("", { attachments: [] })).rejects.toThrow(
      /^input is ""; expected a non-empty string/,
    );
    await expect(chat.invoke(1 as never, given)).rejects.toThrow(/^input is 1/);
    const hosted = new SessionAgent({ name: "hosted", model, store: new MemorySessionStore() });
    await new Runtime().run(hosted, "What is this?", given).result;
    expect(seenBy(model)).toEqual([1, 1, 1]);
  });
});

test("a follow-up of a turn does not bring it again", async () => {
  const model = scriptedModel(({ messages }) => {
    if (messages.at(-1)?.content !== "And?") chat.followUp("And?");
    return "A cat.";
  });
  const chat = new SessionAgent({ name: "chat", model, store: new MemorySessionStore() });
  await chat.invoke("What is this?", given);
  expect(seenBy(model)).toEqual([1, 1]);
});

test("a child of a session sees it, if it inherits it", async () => {
  const call = (name: string) => ({ name, arguments: { task: "look" } });
  const model = scriptedModel(({ messages }) =>
    JSON.stringify(messages.at(-1)).includes("What is this?")
      ? { toolCalls: [call("near"), call("far")] }
      : "A cat.",
  );
  const child = (name: string) => ({ name, description: "Looks at something." });
  const children = [{ ...child("near"), attachments: "inherit" } as const, child("far")];
  const chat = new SessionAgent({ name: "chat", model, store: new MemorySessionStore(), children });
  await chat.invoke("What is this?", given);
  expect(seenBy(model).toSorted((a, b) => a - b)).toEqual([0, 1, 1, 1]);
  const wrong = [{ ...child("near"), attachments: "all" as never }];
  expect(() => new SessionAgent({ name: "chat", model, children: wrong })).toThrow(
    /^SessionAgent\.children\[0\]\.attachments is "all"; expected "inherit"/,
  );
});

test("a session takes a picture without a word", async () => {
  const model = answers("A cat.");
  const chat = new SessionAgent({ name: "chat", model, store: new MemorySessionStore() });
  for (const text of ["", " "]) expect((await chat.invoke(text, given)).output).toBe("A cat.");
  expect(model.calls.at(-1)?.request.messages.slice(1)).toEqual([
    { role: "user", content: [picture] },
    { role: "assistant", content: "A cat." },
    { role: "user", content: [picture] },
  ]);
});

test.each(Object.keys(TWELVE))("every model that works for %s sees it", async (name) => {
  const model = scriptedModel(({ tools }) => {
    const delegate = tools?.find((tool) => tool.name === "delegate");
    const asked = model.calls.length;
    return delegate !== undefined && asked < 3
      ? { toolCalls: [{ name: "delegate", arguments: { worker: "ann", task: "look" } }] }
      : { text: "ann" };
  });
  await new Runtime().run(seat(name, model).agent, "What is this?", given).result;
  expect(model.calls.length).toBeGreaterThan(0);
  expect(seenBy(model).filter((times) => times === 0)).toEqual([]);
});

test("a supervisor forwards the answer of a worker that has seen it", async () => {
  const call = (name: string, args: object) => ({
    toolCalls: [{ name, arguments: { worker: "worker", ...args } }],
  });
  const model = scriptedModel([call("delegate", { task: "look" }), call("forward_message", {})]);
  const seer = answers("A cat.");
  const architecture = new Supervisor({ workers: { worker: worker(seer) } });
  const lead = new StrategyAgent({ name: "lead", architecture, model });
  expect((await new Runtime().run(lead, "What is this?", given).result).output).toBe("A cat.");
  expect([seenBy(model), seenBy(seer)]).toEqual([[1, 1], [1]]);
});

test("a strategy that passes another prompt on to ReAct passes it on too", async () => {
  const model = answers("A cat.");
  const react = new ReAct();
  const architecture: Architecture = {
    name: "polite",
    run: (session, deps, prompt) => react.run(session, deps, `${prompt} Please.`),
    declaredWorkers: () => ({}),
  };
  const thinker = new StrategyAgent({ name: "thinker", architecture, model });
  await new Runtime().run(thinker, "What is this?", given).result;
  expect(model.calls.map(({ request }) => request.messages)).toEqual([
    [{ role: "user", content: [picture, { type: "text", text: "What is this? Please." }] }],
  ]);
});

test("a delegate in a plan of ReWOO sees it, if it inherits it", async () => {
  const steps = ["near", "far"].map((tool) => ({ id: tool, tool, input: { task: "look" } }));
  const model = scriptedModel([JSON.stringify({ steps }), "A cat."]);
  const [near, far] = [answers("near"), answers("far")];
  const tools = [
    new ReActAgent({ name: "near", model: near }).asDelegate({ attachments: "inherit" }),
    new ReActAgent({ name: "far", model: far }).asDelegate(),
  ];
  const thinker = new StrategyAgent({ name: "thinker", architecture: new ReWOO(), model, tools });
  await new Runtime().run(thinker, "What is this?", given).result;
  expect([seenBy(near), seenBy(far)]).toEqual([[1], [0]]);
});

test("the next run of a conversation of a strategy sees it too", async () => {
  const model = answers("A cat.");
  const thinker = new StrategyAgent({ name: "thinker", architecture: new SelfRefine(), model });
  const runtime = new Runtime({ history: new MemoryHistory() });
  await runtime.run(thinker, "What is this?", { ...given, sessionId: "s" }).result;
  const before = model.calls.length;
  await runtime.run(thinker, "And what is it called?", { sessionId: "s" }).result;
  expect(new Set(seenBy(model).slice(before))).toEqual(new Set([1]));
});

const INSIDE = "http://169.254.169.254/latest/meta-data";

const addresses: readonly Attachment[] = [
  { type: "image", url: INSIDE },
  { type: "file", url: INSIDE, mediaType: "application/pdf" },
];

test.each(["openai", "chat", "anthropic"] as const)(
  "a URL of an attachment is asked for by nobody here, neither to send it nor to count it: %s",
  async (provider) => {
    const asked: string[] = [];
    const fetch = async (input: string | URL | Request): Promise<Response> => {
      asked.push(new URL(input instanceof Request ? input.url : input).origin);
      return new Response("no", { status: 400 });
    };
    vi.stubGlobal("fetch", fetch);
    try {
      const options = { apiKey: "key-of-nobody", baseURL: "http://model.example", fetch };
      const model =
        provider === "anthropic"
          ? anthropic("claude-sonnet-5-5", options)
          : openai("gpt-5-mini", { ...options, api: provider === "chat" ? "chat" : "responses" });
      const meter = new ModelMeter({
        prices: { [`${model.info.provider}:${model.info.model}`]: { input: 1, output: 1 } },
      });
      const agent = new ReActAgent({ name: "a", model });
      const { status } = await governed({ meter }).run(agent, "look", { attachments: addresses }).result;
      expect(status).toBe("failed");
    } finally {
      vi.unstubAllGlobals();
    }
    expect([...new Set(asked)]).toEqual(["http://model.example"]);
  },
);
