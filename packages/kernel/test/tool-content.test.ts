import { describe, expect, test, vi, onTestFinished } from "vitest";
import { defineTool, InvalidValueError, toolContent } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";

const url = "data:image/png;base64,iVBORw0KGgo=";
const told = async (execute: () => unknown) => {
  const tool = defineTool({ name: "look", description: "", input: { type: "object" }, execute });
  const ctx = bareContext({ validator: () => [] });
  return ctx.tool({ id: "c", name: "look", arguments: "{}" }, tool);
};

describe("toolContent", () => {
  test("is told to the model in parts", async () => {
    const parts = [
      { type: "text", text: "the screen now" },
      { type: "image", url },
      { type: "file", url: "https://example.com/a.pdf", mediaType: "application/pdf" },
    ] as const;
    expect(await told(() => toolContent(parts))).toEqual({ content: parts, isError: false });
    expect(await told(async () => toolContent(parts))).toEqual({ content: parts, isError: false });
  });

  test("without any part is an empty text, which every provider can send", async () => {
    expect(await told(() => toolContent([]))).toEqual({ content: "", isError: false });
  });

  test("is not what only looks like it: data from elsewhere is told as JSON", async () => {
    const data: unknown = JSON.parse(JSON.stringify(toolContent([{ type: "image", url }])));
    expect(await told(() => data)).toMatchObject({
      content: JSON.stringify({ parts: [{ type: "image", url }] }),
    });
  });

  test("is recognised by another copy of the kernel", async () => {
    vi.resetModules();
    // What is loaded now must not stay: the files of one worker share their modules.
    onTestFinished(() => void vi.resetModules());
    const other = await import("@ravi/kernel");
    expect(other.toolContent).not.toBe(toolContent);
    const parts = [{ type: "image", url }] as const;
    expect(await told(() => other.toolContent(parts))).toEqual({ content: parts, isError: false });
  });

  test("keeps what it was given, also if that is changed later", () => {
    const part = { type: "text" as const, text: "before" };
    const parts = [part];
    const content = toolContent(parts);
    part.text = "after";
    parts.pop();
    expect(content).toEqual({ parts: [{ type: "text", text: "before" }] });
    expect(Object.isFrozen(content.parts[0])).toBe(true);
  });

  test.each([
    ["toolContent", "a picture", "an array of parts"],
    ["toolContent[0]", [undefined], 'a part of the type "text", "image" or "file"'],
    [
      "toolContent[1]",
      [
        { type: "text", text: "" },
        { type: "reasoning", text: "" },
      ],
      "a part of the type",
    ],
    ["toolContent[0].text", [{ type: "text" }], "a string"],
    ["toolContent[0].url", [{ type: "image", url: "" }], "a data: or https: URL"],
    ["toolContent[0].url", [{ type: "image" }], "a data: or https: URL"],
    ["toolContent[0].mediaType", [{ type: "file", url }], "a media type"],
    ["toolContent[0]", Object.assign([], { length: 1 }), "a part of the type"],
  ])("%s is named if it is wrong", (field, given, expected) => {
    const make = () => Reflect.apply(toolContent, undefined, [given]);
    expect(make).toThrow(InvalidValueError);
    expect(make).toThrow(expected);
    expect(make).toThrow(`${field} `);
  });
});
