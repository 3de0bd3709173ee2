import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type Attachment,
  BudgetExhaustedError,
  type DelegateTool,
  type Inbox,
  type LLMClient,
  type ToolCall,
  toolContent,
} from "@ravi/kernel";
import { bareContext, bareInbox, delegateTo, hireAll, planLoop, toolLoop } from "@ravi/kernel/loop";

const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
const paper = {
  type: "file",
  url: "https://example.com/a.pdf",
  mediaType: "application/pdf",
  name: "a.pdf",
} as const;

function scripted(turns: readonly (string | readonly ToolCall[])[]): LLMClient {
  const left = [...turns];
  return {
    id: "scripted",
    info: { provider: "test", model: "scripted" },
    async generate() {
      const turn = left.shift() ?? "no more";
      if (typeof turn === "string")
        return { message: { role: "assistant", content: turn }, finishReason: "stop" };
      return { message: { role: "assistant", content: "", toolCalls: turn }, finishReason: "toolCalls" };
    },
  };
}

/** An agent that answers what came with its input. */
function seer(): Agent & { readonly seen: Inbox["attachments"][] } {
  const seen: Inbox["attachments"][] = [];
  return {
    id: AgentId("seer"),
    seen,
    run: async (_, { attachments }) => {
      seen.push(attachments);
      return { status: "completed", output: String(attachments?.length ?? 0), stopReason: "done" };
    },
  };
}

describe("the first message of a loop", () => {
  const messages = async (input: string, attachments?: readonly Attachment[]) => {
    const ctx = bareContext();
    await toolLoop(
      planLoop("test", { name: "a", model: scripted(["seen"]) }),
      ctx,
      ctx.inbox(input, attachments),
    );
    return ctx.window();
  };

  test("has what came with the input before the text", async () => {
    const [first] = await messages("What is this?", [picture, paper]);
    expect(first).toEqual({
      role: "user",
      content: [picture, paper, { type: "text", text: "What is this?" }],
    });
    const content = first?.content as readonly unknown[];
    expect([content, ...content].map(Object.isFrozen)).toEqual([true, true, true, true]);
  });

  test("has no empty text, which providers refuse", async () => {
    expect((await messages("", [picture]))[0]).toEqual({ role: "user", content: [picture] });
  });

  test("is a text if nothing came with it", async () => {
    expect((await messages("hello"))[0]).toEqual({ role: "user", content: "hello" });
    expect((await messages("hello", []))[0]).toEqual({ role: "user", content: "hello" });
    const ctx = bareContext();
    const plan = planLoop("test", { name: "a", model: scripted(["seen"]) });
    await toolLoop(plan, ctx, { input: "hello", attachments: [] });
    expect(ctx.window()[0]).toEqual({ role: "user", content: "hello" });
  });
});

describe("a message to an agent at work", () => {
  test("has what came with it before the text, with who said it", async () => {
    const ctx = bareContext();
    const inbox = ctx.inbox("Look.");
    inbox.send("user", "And this?", [picture]);
    inbox.send("user", "", [paper]);
    inbox.send("lead", { look: true }, [paper]);
    await toolLoop(planLoop("test", { name: "a", model: scripted(["seen"]) }), ctx, inbox);
    expect(ctx.window().slice(1, 4)).toEqual([
      { role: "user", content: [picture, { type: "text", text: "And this?" }] },
      { role: "user", content: [paper] },
      { role: "user", content: [paper, { type: "text", text: '[message from lead] {"look":true}' }] },
    ]);
  });

  test("of its parent brings what the parent gives to it, and a frozen copy of that", async () => {
    const heard: Inbox["attachments"][] = [];
    const agent: Agent = {
      id: AgentId("clerk"),
      async run(_, inbox) {
        for (;;) {
          const message = await inbox.receive();
          if (message.content === "bye") return { status: "completed", output: "", stopReason: "done" };
          heard.push(message.attachments);
          await inbox.reply(message, "seen");
        }
      },
    };
    const ctx = bareContext();
    const handle = await ctx.spawn(agent, { input: "" });
    await ctx.ask(handle, "What is this?", { attachments: [{ ...picture }] });
    await ctx.ask(handle, "And?");
    expect(heard).toEqual([[picture], undefined]);
    expect(heard[0]?.map(Object.isFrozen)).toEqual([true]);
    const wrong = { attachments: [{ type: "image" }] as never };
    await expect(ctx.ask(handle, "?", wrong)).rejects.toThrow(/^ask\.attachments\[0\]\.url is undefined/);
    expect(() => bareInbox("").send("user", "?", wrong.attachments)).toThrow(/^send\.attachments\[0\]\.url/);
  });
});

test.each([
  "./cat.png",
  "../cat.png",
  "/home/ada/cat.png",
  "~/cat.png",
  "C:\\cat.png",
  "\\\\server\\cat.png",
  "file:///cat.png",
])("a path of the disk, as %s, is refused with how a file is given", (url) => {
  const refused =
    /\[0\]\.url is .* becomes a data: URL: `data:image\/png;base64,\$\{await readFile\(path, "base64"\)\}`$/;
  expect(() => bareInbox("").send("user", "?", [{ type: "image", url }])).toThrow(refused);
  expect(() => toolContent([{ type: "file", url, mediaType: "image/png" }])).toThrow(refused);
});

test.each(["file-abc123", "files/abc-123", "cat.png", "gs://bucket/cat.png", "https://example.com/a.png"])(
  "%s may be a URL or the id of an uploaded file",
  (url) => {
    expect(toolContent([{ type: "image", url }])).toMatchObject({ parts: [{ url }] });
  },
);

describe("a hire", () => {
  test("gets what it is given, and nothing else", async () => {
    const agent = seer();
    const ctx = bareContext();
    ctx.inbox("", [picture]);
    expect(await ctx.hire({ agent, input: "" })).toMatchObject({ result: { output: "0" } });
    expect(await ctx.hire({ agent, input: "", attachments: [paper] })).toMatchObject({
      result: { output: "1" },
    });
    const handle = await ctx.spawn(agent, { input: "", attachments: [paper, picture] });
    expect(await ctx.join(handle)).toMatchObject({ result: { output: "2" } });
    expect(agent.seen).toEqual([undefined, [paper], [paper, picture]]);
  });

  test("with something else is refused", async () => {
    const wrong = { agent: seer(), input: "", attachments: "a picture" as never };
    await expect(bareContext().hire(wrong)).rejects.toThrow(/^hire\.attachments is "a picture"/);
    await expect(bareContext().spawn(wrong.agent, { input: "", attachments: null as never })).rejects.toThrow(
      /^hire\.attachments is null/,
    );
  });

  test("in the slot of its parent gets it too", async () => {
    const agent = seer();
    const error = new BudgetExhaustedError({ scope: "run", dimension: "agents", used: 1, limit: 1 });
    const denied = { status: "denied", error };
    const full = Object.assign(Object.create(bareContext()) as ReturnType<typeof bareContext>, {
      batch: async (leaves: readonly unknown[]) => leaves.map(() => denied),
    });
    const [outcome] = await hireAll(full, [{ kind: "hire", agent, input: "", attachments: [paper] }]);
    expect(outcome).toMatchObject({ result: { output: "1" } });
    expect(agent.seen).toEqual([[paper]]);
  });
});

describe("a delegate", () => {
  const handedOver = async (tool: DelegateTool, given: readonly Attachment[] | undefined) => {
    const call = { id: "c", name: tool.name, arguments: '{"task":"look"}' };
    const model = scripted([[call], "done"]);
    const loop = planLoop("test", { name: "lead", model, tools: [tool] });
    await toolLoop(loop, bareContext(), bareInbox("go", { attachments: given }));
  };

  test("inherits what came with the input of its parent, if it says so", async () => {
    const agent = seer();
    await handedOver(delegateTo(agent, { attachments: "inherit" }), [picture]);
    await handedOver(delegateTo(agent), [picture]);
    await handedOver(delegateTo(agent, { attachments: "inherit" }), undefined);
    expect(agent.seen).toEqual([[picture], undefined, undefined]);
  });

  test("may give something of its own", async () => {
    const agent = seer();
    const own: DelegateTool = {
      ...delegateTo(agent, { attachments: "inherit" }),
      hire: () => ({ kind: "hire", agent, input: "", attachments: [paper] }),
    };
    await handedOver(own, [picture]);
    expect(agent.seen).toEqual([[paper]]);
  });

  test("that gives something else is told so", async () => {
    const agent = seer();
    const hire = () => ({ kind: "hire", agent, input: "", attachments: [{ type: "image" }] }) as never;
    const wrong: DelegateTool = { ...delegateTo(agent), hire };
    const call = { id: "c", name: "seer", arguments: '{"task":"look"}' };
    const ctx = bareContext();
    const model = scripted([[call], "done"]);
    await toolLoop(planLoop("test", { name: "lead", model, tools: [wrong] }), ctx, "go");
    expect(JSON.stringify(ctx.window())).toContain("seer.hire(args).attachments[0].url");
    expect(agent.seen).toEqual([]);
  });

  test("refuses anything but inherit", () => {
    const tools = [{ ...delegateTo(seer()), attachments: "Inherit" as never }];
    expect(() => planLoop("test", { name: "lead", model: scripted([]), tools })).toThrow(
      /^test\.tools\[0\]\.attachments is "Inherit"; expected "inherit"/,
    );
    expect(() => delegateTo(seer(), { attachments: [picture] as never })).toThrow(
      /asDelegate\.attachments.*"inherit"/,
    );
  });
});

test.each([
  "text/plain; charset=utf-8",
  "image/*",
  "image/svg+xml",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
])("%s is a media type", (mediaType) => {
  const file = { ...paper, mediaType, name: `${"é".repeat(251)}.pdf` };
  expect(bareContext().inbox("", [file]).attachments).toEqual([file]);
});

test.each([
  ["attachments", "a picture", "an array of images and files"],
  ["attachments[0]", [undefined], 'a part of the type "image" or "file"'],
  ["attachments[1]", Object.assign([picture], { 2: picture }), 'a part of the type "image" or "file"'],
  ["attachments[0]", [{ type: "text", text: "no" }], 'a part of the type "image" or "file"'],
  ["attachments[1].url", [picture, { type: "image", url: "" }], "a data: or https: URL"],
  ["attachments[0].mediaType", [{ type: "file", url: picture.url }], "a media type"],
  ["attachments[0].mediaType", [{ ...picture, mediaType: 1 }], "a media type"],
  ["attachments[0].mediaType", [{ ...paper, mediaType: "pdf" }], "a media type"],
  ["attachments[0].mediaType", [{ ...paper, mediaType: "text/plain\nerror: forged" }], "a media type"],
  ["attachments[0].mediaType", [{ ...paper, mediaType: `text/${"x".repeat(1_000)}` }], "a media type"],
  ["attachments[0].name", [{ ...paper, name: 1n }], "the name of the file"],
  ["attachments[0].name", [{ ...paper, name: "x".repeat(256) }], "at most 255 characters"],
  ["attachments[0].name", [{ ...paper, name: "a\n[b]" }], "no control characters"],
  ["attachments[0].mediatype", [{ ...picture, mediatype: "image/png" }], "no field of that name"],
])("%s is named if it is wrong", (field, given, expected) => {
  expect(() => bareContext().inbox("", given as never)).toThrow(
    expect.objectContaining({
      code: "INVALID_VALUE",
      field,
      message: expect.stringContaining(expected) as unknown,
    }),
  );
});

test("what was given stays as it was, also if it is changed later", () => {
  const part: { type: "image"; url: string } = { type: "image", url: picture.url };
  const list: Attachment[] = [part];
  const { attachments } = bareContext().inbox("", list);
  part.url = "https://elsewhere.example.com";
  list.pop();
  expect(attachments).toEqual([picture]);
  expect(Object.isFrozen(attachments)).toBe(true);
});

test("an inbox of one's own is checked too", () => {
  expect(() => bareInbox("", { attachments: "x" as never })).toThrow(/^attachments is "x"/);
});

test("a part may be an object of a class: what it inherits is copied too", () => {
  class Shot {
    readonly type = "image";
    get url(): string {
      return picture.url;
    }
  }
  expect(bareContext().inbox("", [new Shot()]).attachments).toEqual([picture]);
  expect(toolContent([new Shot()]).parts).toEqual([picture]);
});
