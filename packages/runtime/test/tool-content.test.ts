import { expect, test } from "vitest";
import { defineTool, toolContent, type ToolResult } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done, until } from "./support/helpers.ts";

test("a picture that a tool shows is on record: a resumed run gets the same, and the tool is not called again", async () => {
  let shots = 0;
  const look = defineTool({
    name: "look",
    description: "",
    input: { type: "object" },
    execute: () => toolContent([{ type: "image", url: `data:image/png;base64,${btoa(`shot ${++shots}`)}` }]),
  });
  const seen: ToolResult[] = [];
  const looking = agent("looking", async (ctx) => {
    seen.push(await ctx.tool({ id: "c", name: "look", arguments: "{}" }, look));
    return done(String(await ctx.waitFor("go")));
  });
  const journal = new MemoryJournal();
  const runtime = () => new Runtime({ journal, agents: [looking], validator: () => [] });
  const first = runtime();
  const handle = first.run(looking, "", { runId: "r" });
  await until(() => handle.status === "suspended");
  await first.close();
  const second = runtime();
  await second.deliver("r", "go", "on");
  expect(await second.resume("r").result).toMatchObject({ status: "completed", output: "on" });
  const shown = { content: [{ type: "image", url: "data:image/png;base64,c2hvdCAx" }], isError: false };
  expect(seen).toEqual([shown, shown]);
  expect(shots).toBe(1);
});
