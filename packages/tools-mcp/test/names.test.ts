import { checkToolName, defineTool } from "@ravi/kernel";
import { joinTools, mcpTools } from "@ravi/tools-mcp";
import fc from "fast-check";
import { expect, test } from "vitest";
import { defined, failureOf, fakeClient, told } from "./support.ts";

const namesOf = async (names: readonly string[], prefix?: string): Promise<readonly string[]> => {
  const { tools } = await mcpTools(fakeClient(names.map((name) => defined(name))), { prefix });
  return tools.map(({ name }) => name);
};

test("names become names that providers accept", async () => {
  expect(await namesOf(["a.b", "c/d e", "ä", "ok_-9"])).toEqual(["a_b", "c_d_e", "ok_-9", "_"]);
  expect(await namesOf(["list"], "offers_")).toEqual(["offers_list"]);
});

test("a long name is shortened, and stays different from others that begin the same", async () => {
  const long = "x".repeat(80);
  const names = await namesOf([`${long}1`, `${long}2`]);
  expect(new Set(names).size).toBe(2);
  expect(names.map((name) => name.length)).toEqual([64, 64]);
  expect(await namesOf([`${long}2`])).toEqual([names[1]]);
});

test("T15: two tools that get the same name are refused, and both are named", async () => {
  const failure = await failureOf(mcpTools(fakeClient([defined("a.b"), defined("a b")])));
  expect(failure).toMatchObject({
    code: "INVALID_VALUE",
    message:
      'tool name is "a_b"; expected one tool of that name; "a b" and "a.b" both get it: leave one out with exclude, or give its server a prefix',
  });
  const chosen = await mcpTools(fakeClient([defined("a.b"), defined("a b")]), { exclude: ["a.b"] });
  expect(chosen.tools.map(({ name }) => name)).toEqual(["a_b"]);
});

test("T15: two tools of one server with the same name are refused", async () => {
  const failure = await failureOf(
    mcpTools(fakeClient([defined("a"), defined("a", { description: "other" })])),
  );
  expect(failure).toMatchObject({
    code: "INVALID_VALUE",
    message: expect.stringContaining('two tools is "a"'),
  });
});

test("T15: tools of two servers with the same name are refused, and both servers are named", async () => {
  const one = await mcpTools(fakeClient([defined("look.up")]), { name: "shop" });
  const two = await mcpTools(fakeClient([defined("look_up")]), { name: "files" });
  const prefixed = await mcpTools(fakeClient([defined("look_up")]), { prefix: "f_" });
  expect(() => joinTools(one, two)).toThrow(/"look\.up" of "shop" and "look_up" of "files" both get it/);
  expect(joinTools(one, prefixed).map(({ name }) => name)).toEqual(["look_up", "f_look_up"]);
  const own = defineTool({ name: "look_up", description: "", input: { type: "object" }, execute: () => "" });
  expect(() => joinTools(one, { tools: [own] })).toThrow(/"look\.up" of "shop" and a tool of your own/);
});

test("T12: whatever a tool is called, its name is accepted, the server is asked for its own, and no prototype changes", async () => {
  const name = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.constantFrom("", "__proto__", "constructor", "../../etc/passwd", "a\0b", "\u202Eevil", "toString"),
  );
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(name, { maxLength: 4 }), async (names) => {
      const client = fakeClient(names.map((each) => defined(each)));
      const outcome = await mcpTools(client).catch((error: unknown) => error);
      // Two of them may have become the same.
      if (outcome instanceof Error) {
        expect(outcome).toMatchObject({ code: "INVALID_VALUE" });
        return;
      }
      const { tools, manifest } = await mcpTools(client);
      for (const tool of tools) {
        checkToolName(tool.name);
        await told({ tools }, tool.name);
      }
      expect(client.calls.toSorted()).toEqual(manifest.tools.map((each) => each.name).toSorted());
      expect(Object.keys(Object.prototype)).toEqual([]);
    }),
  );
});
