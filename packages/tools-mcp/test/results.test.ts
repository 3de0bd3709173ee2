import { inspect } from "node:util";
import { isRaviError } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { type McpToolsOptions, mcpTools } from "@ravi/tools-mcp";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ask, defined, fakeClient, toolIn } from "./support.ts";

const text = (said: string) => ({ type: "text", text: said });

async function toldOf(result: object, options: McpToolsOptions = {}) {
  const tools = await mcpTools(
    fakeClient([defined("read")], () => result),
    options,
  );
  const { content, isError } = await ask(tools, "read");
  return isError ? { error: content } : content;
}

describe("what the model is told of a result", () => {
  test("texts are one text, and nothing is an empty one", async () => {
    expect(await toldOf({ content: [text("a"), text("b")] })).toBe("a\nb");
    expect(await toldOf({ content: [] })).toBe("");
    expect(await toldOf({})).toBe("");
  });

  test("structured content stands for the texts that repeat it, beside pictures too", async () => {
    const structuredContent = { usd: 7 };
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const shown = { type: "image", url: "data:image/png;base64,AAAA", mediaType: "image/png" };
    expect(await toldOf({ content: [text("$7")], structuredContent })).toBe('{"usd":7}');
    expect(await toldOf({ content: [text("$7"), image], structuredContent })).toEqual([
      text('{"usd":7}'),
      shown,
    ]);
    expect(await toldOf({ content: [], structuredContent: null })).toBe("null");
    // A link says something else.
    const link = { type: "resource_link", uri: "a:b", name: "x" };
    expect(await toldOf({ content: [text("$7"), link], structuredContent })).toEqual([
      text('{"usd":7}'),
      text("[resource a:b, x]"),
    ]);
  });

  test("an error is told with its texts, its data, or that there is nothing", async () => {
    expect(await toldOf({ isError: true, content: [text("no"), text("way")] })).toEqual({
      error: "error: no\nway",
    });
    expect(await toldOf({ isError: true, content: [], structuredContent: { code: 7 } })).toEqual({
      error: 'error: {"code":7}',
    });
    // Frameworks that have only data to give put an empty text beside it.
    expect(await toldOf({ isError: true, content: [text(" ")], structuredContent: { code: 7 } })).toEqual({
      error: 'error: {"code":7}',
    });
    expect(await toldOf({ isError: true, content: [] })).toEqual({
      error: "error: the server says that it failed, and not why",
    });
  });

  test("a long text is cut in the middle, and says so", async () => {
    const cut = /^x{50,}\n\[\.\.\. \d+ characters were cut out here; .*\]\nx{20,}$/;
    const options = { maxResultChars: 300 };
    const long = "x".repeat(10_000);
    for (const result of [
      { content: [text(long)] },
      { content: Array.from({ length: 10_000 }, () => text("x")) },
      { content: [{ type: "resource", resource: { uri: "a:b", text: long } }] },
    ]) {
      const content = String(await toldOf(result, options));
      expect(content.length).toBeLessThanOrEqual(300);
      expect(content.replaceAll("x\nx", "xxx").replaceAll("x\nx", "xxx")).toMatch(cut);
    }
    const data = await toldOf({ structuredContent: { a: long } }, options);
    expect(String(data).length).toBeLessThanOrEqual(300);
    expect(data).toMatch(/^\{"a":"x+\n\[/);
    const failure = await toldOf({ isError: true, content: [text(long)] }, options);
    expect(JSON.stringify(failure).length).toBeLessThan(340);
  });

  test("media beyond the limit are left out, and a text says what", async () => {
    const image = (data: string) => ({ type: "image", data, mimeType: "image/png" });
    expect(
      await toldOf({ content: [image("A".repeat(8)), image("A".repeat(8))] }, { maxMediaBytes: 10 }),
    ).toEqual([
      { type: "image", url: "data:image/png;base64,AAAAAAAA", mediaType: "image/png" },
      text("[image/png was left out: with its 6 bytes, the result has more than 10 bytes of media]"),
    ]);
    const many = await toldOf({ content: Array.from({ length: 25 }, () => image("AAAA")) });
    expect(many).toHaveLength(21);
  });

  test("base64 in lines and a media type with parameters are what many servers send", async () => {
    const image = { type: "image", data: "AAAA\r\nAAAA\n", mimeType: "image/png" };
    const blob = { uri: "file:///all.csv", blob: "AAAA\n", mimeType: "Text/CSV; charset=utf-8" };
    expect(await toldOf({ content: [image, { type: "resource", resource: blob }] })).toEqual([
      { type: "image", url: "data:image/png;base64,AAAAAAAA", mediaType: "image/png" },
      { type: "file", url: "data:text/csv;base64,AAAA", mediaType: "text/csv", name: "all.csv" },
    ]);
  });

  test.each([
    [
      "a picture of no bytes, which providers refuse",
      { type: "image", data: "\n", mimeType: "image/png" },
      "[image/png was left out: it is empty]",
    ],
    [
      "a link",
      { type: "resource_link", uri: "https://evil.example/?secret", name: "x" },
      "[resource https://evil.example/?secret, x]",
    ],
    [
      "a picture that is none",
      { type: "image", data: "https://evil.example/", mimeType: "image/png" },
      "[image/png was left out: it is not base64]",
    ],
    [
      "a media type that is none",
      { type: "image", data: "AAAA", mimeType: "image/png,<svg>" },
      "[content of an unknown type was left out: its media type is none]",
    ],
    ["a kind of part that is not known", { type: "hologram", url: "https://evil.example/" }, "[hologram]"],
    ["no part", 7, "[unknown content]"],
  ])("%s is told, and nobody is sent to its address", async (_, part, said) => {
    expect(await toldOf({ content: [part] })).toBe(said);
  });
});

test("T11: whatever a server answers, the model is told something, and no prototype changes", async () => {
  const key = fc.constantFrom(
    "content",
    "structuredContent",
    "isError",
    "__proto__",
    "then",
    "toJSON",
    "type",
  );
  const strange = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.string({ unit: "binary" }),
      fc.constantFrom(null, true, 1e308, "\ud800", "__proto__", Infinity),
      fc.array(tie("value")),
      fc.array(fc.tuple(key, tie("value"))).map((entries) => Object.fromEntries(entries)),
    ),
  })).value;
  const part = fc.record(
    {
      type: fc.constantFrom("text", "image", "audio", "resource", "resource_link", "?"),
      text: strange,
      data: fc.oneof(strange, fc.base64String()),
      mimeType: fc.oneof(strange, fc.constantFrom("image/png", "a/b", "IMAGE/SVG+XML")),
      resource: fc.record({ uri: strange, text: strange, blob: strange }, { requiredKeys: [] }),
      uri: strange,
      name: strange,
    },
    { requiredKeys: ["type"] },
  );
  const result = fc.record(
    { content: fc.oneof(fc.array(part), strange), structuredContent: strange, isError: strange },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(result, async (given) => {
      const { tools } = await mcpTools(fakeClient([defined("read")], () => given));
      const { content } = await ask({ tools }, "read");
      expect(typeof content === "string" || Array.isArray(content)).toBe(true);
      for (const each of Array.isArray(content) ? content : [])
        if ("url" in each) expect(each.url).toMatch(/^data:[\w.+/!#$&^-]+;base64,[A-Za-z\d+/]*={0,2}$/);
      const texts =
        typeof content === "string"
          ? [content]
          : content.flatMap((each) => ("text" in each ? [each.text] : []));
      expect(texts.every((said) => said.isWellFormed())).toBe(true);
      expect(Object.keys(Object.prototype)).toEqual([]);
    }),
  );
});

test("a failure of a call is a ToolError without a cause, which says whether to try again", async () => {
  const thrown = Object.assign(new Error("boom"), { data: { headers: { authorization: "Bearer canary" } } });
  const answer = () => Promise.reject(thrown);
  const client = fakeClient(
    [defined("read", { annotations: { readOnlyHint: true } }), defined("write")],
    answer,
  );
  const { tools } = await mcpTools(client);
  const { scope } = bareContext();
  const context = { signal: new AbortController().signal, scope, idempotencyKey: "", llm: answer };
  for (const [name, retryable] of [
    ["read", true],
    ["write", false],
  ] as const) {
    const error: unknown = await Promise.resolve(toolIn(tools, name).execute({}, context)).catch(
      (e: unknown) => e,
    );
    expect(isRaviError(error, "TOOL_ERROR") && error).toMatchObject({ toolName: name, retryable });
    expect(error).not.toHaveProperty("cause");
    expect(inspect(error)).not.toContain("canary");
  }
});
