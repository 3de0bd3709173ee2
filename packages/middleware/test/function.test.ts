import { mkdtempSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AuditEntry,
  type FunctionContext,
  type Gate,
  type JsonValue,
  type Layer,
  ExecId,
  HookEvent,
  RunId,
  RunMeta,
  ToolError,
  isRaviError,
  textOf,
} from "@ravi/kernel";
import {
  approval,
  contentTruncator,
  fileValidator,
  MiddlewarePipeline,
  piiToolRedaction,
  schemaValidator,
  toolAudit,
  toolCallValidation,
} from "@ravi/middleware";
import { virtualClock } from "@ravi/testing";
import { functionContext, recordingHooks } from "./support.ts";

interface Call {
  readonly name?: string;
  readonly args?: unknown;
  readonly gives?: FunctionContext["result"];
  readonly throws?: Error;
}

async function through(layer: Layer<FunctionContext>, call: Call = {}) {
  const hooks = recordingHooks();
  const context = functionContext({
    hooks,
    ...(call.name === undefined ? {} : { name: call.name }),
    args: call.args,
  });
  let ran = 0;
  const error = await new MiddlewarePipeline<FunctionContext>([layer])
    .run(context, async () => {
      ran++;
      if (call.throws !== undefined) throw call.throws;
      context.result = call.gives ?? { content: "done", isError: false, value: "done" };
    })
    .then(
      () => undefined,
      (reason: unknown) => reason,
    );
  return { context, error, ran, events: hooks.events };
}

describe("R27: approval", () => {
  function asking(answer: JsonValue) {
    const asked: { name: string; question: JsonValue | undefined }[] = [];
    const gate: Gate = {
      async require(name, question, tell) {
        asked.push({ name, question });
        tell?.();
        return answer;
      },
    };
    return { asked, gate };
  }
  const admit = async (layer: Layer<FunctionContext>, context: FunctionContext, gate: Gate) =>
    new MiddlewarePipeline<FunctionContext>([layer]).admit(context, gate);

  it.each<JsonValue>([true, "approve", "Approved", " yes ", { approved: true }])(
    "R27: %j lets the call go on",
    async (answer) => {
      const context = functionContext();
      await admit(approval(), context, asking(answer).gate);
      expect(context.result).toBeUndefined();
    },
  );

  it.each<JsonValue>([
    false,
    null,
    1,
    "",
    "no",
    "maybe later",
    [],
    [true],
    {},
    { approved: "true" },
    { approved: false, reason: "too risky" },
    { ok: true },
  ])("R27: %j denies it, with an error result for the model", async (answer) => {
    const context = functionContext();
    await admit(approval(), context, asking(answer).gate);
    expect(context.result).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^search was not approved/),
    });
  });

  it("R27: asks by the call's id, with all that is needed to decide, and tells the hooks", async () => {
    const hooks = recordingHooks();
    const { asked, gate } = asking(true);
    await admit(
      approval(),
      functionContext({ hooks, name: "pay", callId: "call_7", args: { usd: 5 } }),
      gate,
    );
    expect(asked).toEqual([
      {
        name: "approval:call_7",
        question: {
          question: "tester wants to call pay. Allow it?",
          agent: "tester",
          tool: "pay",
          callId: "call_7",
          arguments: { usd: 5 },
        },
      },
    ]);
    expect(hooks.events).toMatchObject([
      { event: HookEvent.APPROVAL_REQUESTED, payload: { name: "approval:call_7", callId: "call_7" } },
    ]);
  });

  it("R27: where the answer is on record, nobody hears of the question again", async () => {
    const hooks = recordingHooks();
    const recorded: Gate = { require: async () => true };
    const context = functionContext({ hooks });
    await admit(approval(), context, recorded);
    expect(context.result).toBeUndefined();
    expect(hooks.events).toEqual([]);
  });

  it("R27: a no in words tells the model the words", async () => {
    const context = functionContext();
    await admit(approval(), context, asking("ask me on Monday").gate);
    expect(context.result?.content).toBe("search was not approved: ask me on Monday");
    const silent = functionContext();
    await admit(approval(), silent, asking(false).gate);
    expect(silent.result).toEqual({
      content: "search was not approved: no reason was given",
      isError: true,
    });
  });

  it("R27: in a runtime the question has the name of the call's key, as for a tool that needs approval", async () => {
    const { asked, gate } = asking(true);
    for (const key of ["tool:search#1", "tool:search#2"])
      await admit(approval(), { ...functionContext(), key }, gate);
    expect(asked.map(({ name }) => name)).toEqual([
      "approval:run-1:tool:search#1",
      "approval:run-1:tool:search#2",
    ]);
  });

  it("R27: a call id that a server uses again is a new question, in the same order after a resume; a child's carries its execution", async () => {
    const layer = approval();
    const { asked, gate } = asking(true);
    const first = functionContext();
    const again = functionContext({ meta: first.meta });
    const resumed = functionContext();
    const runId = RunId("run-1");
    const child = functionContext({
      meta: RunMeta.standalone({ runId, execId: ExecId(runId, "hire:helper#1") }),
    });
    for (const context of [first, again, resumed, child]) await admit(layer, context, gate);
    expect(asked.map(({ name }) => name)).toEqual([
      "approval:call_0",
      "approval:call_0#2",
      "approval:call_0",
      "approval:run-1/hire:helper#1:call_0",
    ]);
  });

  it("R27: only chosen tools and calls are asked about; a predicate that throws asks", async () => {
    const { asked, gate } = asking(true);
    await admit(approval({ tools: ["pay"] }), functionContext(), gate);
    await admit(approval({ when: () => false }), functionContext(), gate);
    expect(asked).toEqual([]);
    await admit(
      approval({
        when: () => {
          throw new Error("x");
        },
      }),
      functionContext(),
      gate,
    );
    expect(asked).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ["nothing, as without its return", undefined],
    ["null", null],
    ["0", 0],
    ["a promise of no", Promise.resolve(false)],
  ])("R27: a predicate that gives %s asks: only false lets a call pass", async (_, answer) => {
    const { asked, gate } = asking(true);
    await admit(approval({ when: () => answer as boolean }), functionContext(), gate);
    expect(asked).toHaveLength(1);
  });

  it.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["an object", () => ({ pay: 5 })],
    ["a promise of a text", () => Promise.resolve("Pay?")],
    ["a promise that fails", () => Promise.reject(new Error("a broken question"))],
  ])("R27: where %s is given instead of a question, the usual one is asked", async (_, give) => {
    const { asked, gate } = asking(true);
    const layer = approval({ question: () => give() as string, when: () => give() as boolean });
    await admit(layer, functionContext(), gate);
    expect(asked[0]?.question).toMatchObject({ question: "tester wants to call search. Allow it?" });
  });

  it("R27: arguments that are not JSON are described, not lost", async () => {
    const { asked, gate } = asking(true);
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    await admit(approval(), functionContext({ args: cyclic }), gate);
    expect(asked[0]?.question).toMatchObject({ arguments: "(a value that is not JSON)" });
  });
});

describe("R27: toolCallValidation", () => {
  it.each<[string, Parameters<typeof toolCallValidation>[0], Call]>([
    ["a denied tool", { deny: ["search"] }, {}],
    ["a tool that is not allowed", { allow: ["other"] }, {}],
    ["a tool that is both", { allow: ["search"], deny: ["search"] }, {}],
    ["arguments that are too long", { maxLength: 10 }, { args: { q: "x".repeat(20) } }],
    ["arguments that nest too deep", { maxDepth: 3 }, { args: { a: { b: { c: { d: 1 } } } } }],
    ["too many values", { maxValues: 10 }, { args: Array.from({ length: 20 }, () => 1) }],
  ])("R27: %s is refused with an error result, and the tool is not run", async (_what, options, call) => {
    const { context, error, ran, events } = await through(toolCallValidation(options), call);
    expect(error).toBeUndefined();
    expect(ran).toBe(0);
    expect(context.result).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^search was refused: /),
    });
    expect(events.map(({ event }) => event)).toEqual([HookEvent.GUARDRAIL_TRIP]);
  });

  it("R27: hostile arguments meet a limit: a depth of 100,000, a million keys, a cycle, a getter that throws", async () => {
    let deep: unknown = 1;
    for (let at = 0; at < 100_000; at++) deep = [deep];
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [at, at]));
    const trap = {
      get boom(): never {
        throw new Error("trap");
      },
    };
    for (const args of [deep, cyclic, wide, trap]) {
      const { ran, context } = await through(toolCallValidation(), { args });
      expect([ran, context.result?.isError]).toEqual([0, true]);
    }
  });

  it.each<[string, Parameters<typeof toolCallValidation>[0], unknown, unknown]>([
    ["characters of texts and names", { maxLength: 20 }, { q: "x".repeat(13) }, { q: "x".repeat(14) }],
    ["characters of names", { maxLength: 20 }, { ["k".repeat(15)]: 1 }, { ["k".repeat(16)]: 1 }],
    [
      "characters of numbers in a list",
      { maxLength: 20 },
      [1234, 1234, 1234, 1234],
      [1234, 1234, 1234, 12345],
    ],
    ["levels", { maxDepth: 3 }, { a: { b: { c: null } } }, { a: { b: { c: {} } } }],
    ["values", { maxValues: 3 }, { a: 1, b: null }, { a: 1, b: 2, c: 3 }],
  ])("R27: as many %s as are allowed pass, and one more does not", async (_, options, fits, tooMuch) => {
    expect((await through(toolCallValidation(options), { args: fits })).ran).toBe(1);
    expect((await through(toolCallValidation(options), { args: tooMuch })).ran).toBe(0);
  });

  it("R27: it can end the run instead; what is fine passes", async () => {
    const { error, ran } = await through(toolCallValidation({ deny: ["search"], onViolation: "terminate" }));
    expect(isRaviError(error, "MIDDLEWARE_TERMINATION")).toBe(true);
    expect(ran).toBe(0);
    expect((await through(toolCallValidation({ allow: ["search"] }), { args: { q: "x" } })).ran).toBe(1);
  });
});

describe("R27: contentTruncator", () => {
  const text = (content: unknown): string =>
    typeof content === "string" ? content : JSON.stringify(content);

  it("R27: cuts a long result with a notice, keeping its beginning and its end", async () => {
    const gives = { content: `BEGIN${"x".repeat(5_000)}END`, isError: false, value: 1 };
    const { context } = await through(contentTruncator({ maxLength: 300 }), { gives });
    const cut = text(context.result?.content);
    expect(cut).toMatch(/^BEGINx+\n\[… 4\d{3} characters left out …\]\nx+END$/);
    expect(cut.length).toBeLessThanOrEqual(300);
    expect(context.result?.value).toBe(1);
  });

  it("R27: leaves short results, images and whole characters alone", async () => {
    const short = { content: "short", isError: false };
    expect((await through(contentTruncator(), { gives: short })).context.result).toBe(short);
    const parts = [
      { type: "image", url: "data:x" } as const,
      { type: "text", text: "y".repeat(500) } as const,
      { type: "text", text: "z".repeat(500) } as const,
    ];
    const { context } = await through(contentTruncator({ maxLength: 300 }), {
      gives: { content: parts, isError: false },
    });
    expect(text(context.result?.content).length).toBeLessThan(500);
    expect(context.result?.content[0]).toBe(parts[0]);
    expect(context.result?.content.slice(1)).toEqual([
      { type: "text", text: expect.stringMatching(/^y+\n\[… 3\d\d characters left out …\]\ny+$/) },
      { type: "text", text: expect.stringMatching(/^z+\n\[… 3\d\d characters left out …\]\nz+$/) },
    ]);
    for (let shift = 0; shift < 4; shift++) {
      const emoji = await through(contentTruncator({ maxLength: 200 }), {
        gives: { content: "a".repeat(shift) + "😀".repeat(500), isError: false },
      });
      expect(text(emoji.context.result?.content).isWellFormed()).toBe(true);
    }
  });
});

it("R27: of very many parts no more than the limit is left, with one notice of the rest", async () => {
  const content = Array.from({ length: 5_000 }, () => ({ type: "text", text: "0123456789" }) as const);
  const { context } = await through(contentTruncator({ maxLength: 300 }), {
    gives: { content, isError: false },
  });
  const left = textOf({ content: context.result?.content ?? "" });
  expect(left).toHaveLength(300);
  expect(left).toMatch(/^(?:0123456789)+\d*\n\[… 49\d{3} characters left out …\]\n\d*(?:0123456789)+$/);
});

describe("R27: schemaValidator", () => {
  const schemas = { search: z.object({ hits: z.array(z.string()) }) };

  it("R27: a result that does not fit becomes an error that says where", async () => {
    const { context, ran } = await through(schemaValidator({ schemas }), {
      gives: { content: "{}", isError: false, value: { hits: [1] } },
    });
    expect(ran).toBe(1);
    expect(context.result).toMatchObject({ isError: true, content: expect.stringMatching(/hits\.0/) });
    expect(context.result).not.toHaveProperty("value");
  });

  it("R27: fitting results, errors and other tools pass", async () => {
    const fits = { content: "x", isError: false, value: { hits: ["a"] } };
    expect((await through(schemaValidator({ schemas }), { gives: fits })).context.result).toBe(fits);
    const failed = { content: "no", isError: true };
    expect((await through(schemaValidator({ schemas }), { gives: failed })).context.result).toBe(failed);
    expect((await through(schemaValidator({ schemas }), { name: "other" })).context.result?.isError).toBe(
      false,
    );
    const later = { search: schemas.search.refine(async ({ hits }) => hits.length === 1) };
    expect((await through(schemaValidator({ schemas: later }), { gives: fits })).context.result).toBe(fits);
  });

  it("R27: a result that a redactor further in has cleaned is judged by what is left of it", async () => {
    for (const [hits, isError] of [
      [["bob@example.com"], false],
      ["bob@example.com", true],
    ] as const) {
      const context = functionContext();
      const layers = [schemaValidator({ schemas }), piiToolRedaction()];
      await new MiddlewarePipeline<FunctionContext>(layers).run(context, async () => {
        context.result = { content: JSON.stringify({ hits }), isError: false, value: { hits } };
      });
      expect(context.result?.isError).toBe(isError);
    }
  });

  it("R27: a raw JSON Schema needs a validator, and a broken one fails closed", async () => {
    expect(() => schemaValidator({ schemas: { search: { type: "string" } } })).toThrow(/validator/);
    const broken = schemaValidator({
      schemas: { search: { type: "string" } },
      validator: () => {
        throw new Error("x");
      },
    });
    expect((await through(broken)).context.result?.isError).toBe(true);
  });
});

describe("R27: fileValidator", () => {
  let root = "";
  beforeAll(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "ravi-files-")));
    mkdirSync(join(root, "work/sub"), { recursive: true });
    writeFileSync(join(root, "secret.txt"), "secret");
    writeFileSync(join(root, "work/a.md"), "hello");
    writeFileSync(join(root, "work/big.md"), "x".repeat(2_000));
    symlinkSync(join(root, "secret.txt"), join(root, "work/link.md"));
    symlinkSync(root, join(root, "work/up"));
    for (const [name, target] of [
      // Links to what is not there: writing to such a one makes its target.
      ["out.md", "../new.txt"],
      ["out-absolute.md", join(root, "new.txt")],
      ["out-chain.md", "chain.md"],
      ["chain.md", "sub/../../new.txt"],
      ["out-folder", "../missing"],
      ["out-later.md", "missing/../../new.txt"],
      ["out-through.md", "up/new.txt"],
      ["out-odd.md", "C:x\\y"],
      ["C:x\\y", "../new.txt"],
      ["loop.md", "loop-back.md"],
      ["loop-back.md", "loop.md"],
      ["loop-missing.md", "missing/../loop-missing.md"],
      ["in.md", "sub/new.txt"],
      ["in-chain.md", "in.md"],
    ] as const)
      symlinkSync(target, join(root, "work", name));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const layer = (more: Partial<Parameters<typeof fileValidator>[0]> = {}) =>
    fileValidator({ roots: [join(root, "work")], maxBytes: 1_000, ...more });

  it.each([
    "a.md",
    ".",
    "sub/new.md",
    "./a.md",
    "new/deep/er.md",
    "..a/x.md",
    "a..md",
    "notes 12:30.md",
    "re: plan.md",
    "sub/a:b",
    "profile:x",
  ])("R27: %s inside of the folder is allowed", async (path) => {
    expect((await through(layer(), { args: { path } })).ran).toBe(1);
  });

  it.each([
    "../secret.txt",
    "sub/../../secret.txt",
    "/etc/passwd",
    "~/.ssh/id_rsa",
    "~root",
    "a.md\0.png",
    "a\nb",
    "..\\secret.txt",
    "C:\\Windows\\x",
    "C:secret",
    "//server/share",
    "\\\\server\\share",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "FILE:/etc/passwd",
    "file:etc/passwd",
    " file:/etc/passwd",
    "https:/example.com/x",
    "http:\\\\example.com",
    "https://example.com/x",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "link.md",
    "up/secret.txt",
    "up/work/../secret.txt",
    // By its text it is inside, but the system goes to the folder above the link's target.
    "up/../a.md",
    "big.md",
    "",
    "x".repeat(5_000),
  ])("R27: %j is refused", async (path) => {
    const { ran, context } = await through(layer(), { args: { path } });
    expect(ran).toBe(0);
    expect(context.result?.isError).toBe(true);
  });

  it.each([
    "out.md",
    "out-absolute.md",
    "out-chain.md",
    "out-folder/x.md",
    "out-folder/deep/x.md",
    "out-later.md",
    "out-through.md",
    "out-odd.md",
    "loop.md",
    "loop.md/x",
    "loop-missing.md",
  ])("R27: %s, a link to what is not there yet, is refused: it leads out, or nowhere", async (path) => {
    for (const onError of ["block", "allow"] as const) {
      const { ran, context } = await through(layer({ onError }), { args: { path } });
      expect(ran).toBe(0);
      expect(context.result).toMatchObject({ isError: true, content: expect.stringMatching(/link/) });
    }
  });

  it.each(["in.md", "in-chain.md"])(
    "R27: %s, a link to a file yet to be written inside, is allowed",
    async (path) => {
      expect((await through(layer(), { args: { path } })).ran).toBe(1);
    },
  );

  it("R27: paths are found in lists and at any depth, under the names that are set", async () => {
    for (const args of [
      { paths: ["a.md", "../x"] },
      { options: { file: { path: "../x" } } },
      [{ filename: "../x" }],
    ]) {
      expect((await through(layer(), { args })).ran).toBe(0);
    }
    expect((await through(layer(), { args: { text: "../x" } })).ran).toBe(1);
    expect((await through(layer({ fields: ["where"] }), { args: { where: "../x" } })).ran).toBe(0);
  });

  it("R27: of several paths each is checked, wherever the wrong one is; what is no text is no path", async () => {
    const ran = async (args: object) => (await through(layer(), { args })).ran;
    for (const paths of [
      ["../x", "a.md"],
      ["a.md", "../x"],
      ["a.md", "../x", "a.md"],
    ])
      expect(await ran({ paths })).toBe(0);
    const cyclic: Record<string, unknown> = { paths: ["a.md", "sub/b.md"], file: 3, folder: null };
    cyclic["self"] = cyclic;
    expect(await ran(cyclic)).toBe(1);
    expect(await ran({ source: "a.md", destination: join(root, "secret.txt") })).toBe(0);
  });

  it("R27: a path is inside or not by its name, also where the disk knows nothing of it", async () => {
    const disk = { realPath: () => undefined, sizeOf: () => undefined };
    const ran = async (roots: string[], path: string) =>
      (await through(fileValidator({ roots, disk }), { args: { path } })).ran;
    const posix = ["/docs", "/more"];
    for (const path of ["a.md", "/docs/a.md", "/more/a.md"])
      expect([path, await ran(posix, path)]).toEqual([path, 1]);
    for (const path of ["/etc/passwd", "/docstore/a.md", "sub\\a.md"])
      expect([path, await ran(posix, path)]).toEqual([path, 0]);
    expect(await ran(["/"], "/etc/passwd")).toBe(1);
    const windows = ["C:\\work"];
    for (const path of ["sub\\a.md", "C:\\work\\a.md"])
      expect([path, await ran(windows, path)]).toEqual([path, 1]);
    for (const path of ["C:\\other\\a.md", "D:\\work\\a.md"])
      expect([path, await ran(windows, path)]).toEqual([path, 0]);
  });

  it("R27: a file may have as many bytes as are allowed, and no more", async () => {
    expect((await through(layer({ maxBytes: 5 }), { args: { path: "a.md" } })).ran).toBe(1);
    expect((await through(layer({ maxBytes: 4 }), { args: { path: "a.md" } })).ran).toBe(0);
  });

  it("R27: endings can be limited, and a disk that fails, fails closed", async () => {
    expect((await through(layer({ extensions: [".md"] }), { args: { path: "x.sh" } })).ran).toBe(0);
    expect((await through(layer({ extensions: [".md"] }), { args: { path: "x.MD" } })).ran).toBe(1);
    expect((await through(layer({ extensions: [".MD"] }), { args: { path: "x.md" } })).ran).toBe(1);
    const broken = {
      realPath: () => {
        throw new Error("EIO");
      },
      sizeOf: () => 0,
    };
    expect((await through(layer({ disk: broken }), { args: { path: "a.md" } })).ran).toBe(0);
    expect(() => fileValidator({ roots: ["relative"] })).toThrow(/absolute/);
    expect(() => fileValidator({ roots: [] })).toThrow(/at least one/);
    // It would allow "cmd" as well.
    expect(() => layer({ extensions: [".txt", "md"] })).toThrow(
      'fileValidator.extensions[1] is "md"; expected an extension with its dot, such as ".md"',
    );
  });
});

describe("R27: toolAudit", () => {
  function auditLog(fails: (entry: AuditEntry) => boolean = () => false) {
    const entries: AuditEntry[] = [];
    return {
      entries,
      isNoop: false,
      append: async (entry: AuditEntry) => {
        if (fails(entry)) throw new Error("disk full");
        entries.push(entry);
      },
    };
  }

  it("R27: writes down the beginning and the end, and arguments only when asked for", async () => {
    const log = auditLog();
    await through(toolAudit({ log }), { args: { q: "private" } });
    expect(log.entries).toMatchObject([
      { action: "tool.begin", target: "search", actor: "tester", outcome: "ok" },
      {
        action: "tool.end",
        target: "search",
        outcome: "ok",
        details: { callId: "call_0", durationMs: expect.any(Number) },
      },
    ]);
    expect(JSON.stringify(log.entries)).not.toContain("private");
    const open = auditLog();
    await through(toolAudit({ log: open, recordArguments: true }), { args: { q: "private" } });
    expect(JSON.stringify(open.entries)).toContain("private");
  });

  it("R27: writes down for which user of which customer it was", async () => {
    const log = auditLog();
    const context = functionContext({ userId: "ada" });
    await new MiddlewarePipeline<FunctionContext>([toolAudit({ log })]).run(context, async () => {
      context.result = { content: "done", isError: false };
    });
    expect(log.entries.map(({ details }) => details?.["userId"])).toEqual(["ada", "ada"]);
  });

  it("R27: what a tool threw is written down with its code, and how long it took", async () => {
    const log = auditLog();
    const clock = virtualClock({ now: 1_000 });
    const layer = toolAudit({ log });
    for (const error of [new ToolError({ toolName: "search", message: "no" }), new Error("boom")]) {
      const run = new MiddlewarePipeline<FunctionContext>([layer]).run(
        functionContext({ clock }),
        async () => {
          await clock.advance(250);
          throw error;
        },
      );
      await expect(run).rejects.toBe(error);
    }
    const ends = log.entries.filter(({ action }) => action === "tool.end");
    expect(
      ends.map(({ details }) => [details?.["error"], details?.["code"], details?.["durationMs"]]),
    ).toEqual([
      [expect.stringContaining("no"), "TOOL_ERROR", 250],
      ["boom", undefined, 250],
    ]);
  });

  it("R27: errors are written down as what they are", async () => {
    const log = auditLog();
    await through(toolAudit({ log }), { gives: { content: "x", isError: true } });
    await through(toolAudit({ log }), { throws: new Error("boom") });
    expect(log.entries.filter(({ action }) => action === "tool.end").map(({ outcome }) => outcome)).toEqual([
      "error",
      "error",
    ]);
  });

  it("R27: what cannot be written down does not happen, unless set otherwise", async () => {
    const before = await through(toolAudit({ log: auditLog(() => true) }));
    expect(isRaviError(before.error, "MIDDLEWARE_ERROR")).toBe(true);
    expect(before.ran).toBe(0);
    const after = await through(toolAudit({ log: auditLog(({ action }) => action === "tool.end") }));
    expect(isRaviError(after.error, "MIDDLEWARE_ERROR")).toBe(true);
    const both = await through(toolAudit({ log: auditLog(({ action }) => action === "tool.end") }), {
      throws: new Error("boom"),
    });
    expect(
      both.error instanceof Error &&
        both.error.cause instanceof AggregateError &&
        both.error.cause.errors.map(String),
    ).toEqual(["Error: boom", expect.stringMatching(/disk full/)]);
    const relaxed = await through(toolAudit({ log: auditLog(() => true), onError: "allow" }));
    expect([relaxed.error, relaxed.ran]).toEqual([undefined, 1]);
  });
});
