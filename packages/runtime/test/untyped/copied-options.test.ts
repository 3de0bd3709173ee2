import { describe, expect, test } from "vitest";
import { type CallOptions, defineTool, type LLMClient, type ToolContext } from "@ravi/kernel";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { everything } from "../cost/everything.ts";
import { agent, ask, done, until } from "../support/helpers.ts";

// What a model and a tool get beside their input is taken apart by whoever wraps another: spread, or written to a log.

const HOUSES: readonly (readonly [string, () => RuntimeOptions])[] = [
  ["a runtime that was given nothing", () => ({})],
  ["one that was given everything", () => everything(new MemoryJournal())],
];

/** Hands on a copy of the options to a model that never answers, until its signal aborts. */
function wrapping(seen: CallOptions[]): LLMClient {
  return {
    id: "wrapper",
    info: { provider: "p", model: "m" },
    generate: (_request, options) => {
      const copy: CallOptions = { ...options };
      seen.push(copy);
      return new Promise((_, reject) => {
        copy.signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      });
    },
  };
}

describe.each(HOUSES)("%s", (_, house) => {
  test("R9: a model that hands on a copy of its options is aborted when its run is cancelled", async () => {
    const seen: CallOptions[] = [];
    const model = wrapping(seen);
    const handle = new Runtime(house()).run(
      agent("a", async (ctx) => {
        await ctx.llm(model, ask("hi"));
        return done("never");
      }),
      "go",
    );
    await until(() => seen.length > 0);
    handle.cancel("enough");
    expect((await handle.result).status).toBe("cancelled");
    const [options] = seen;
    expect(options?.signal?.aborted).toBe(true);
    expect(options?.idempotencyKey).toMatch(/llm.*#1$/);
    expect(Object.keys(options ?? {}).toSorted()).toEqual(["idempotencyKey", "signal"]);
    expect(JSON.parse(JSON.stringify(options))).toMatchObject({ idempotencyKey: options?.idempotencyKey });
  });

  test("R23: a tool that hands on a copy of its context hands on all of it", async () => {
    let copy: ToolContext | undefined;
    const look = defineTool({
      name: "look",
      description: "looks",
      input: z.object({}),
      idempotent: true,
      execute: async (_input, context) => {
        copy = { ...context };
        copy.progress?.("looking");
        const { message } = await copy.llm(scriptedModel(["seen"]), { messages: [] });
        return String(message.content);
      },
    });
    const result = await new Runtime(house()).run(
      agent("a", async (ctx) => {
        const call = { id: "c1", name: "look", arguments: "{}" };
        const [outcome] = await ctx.batch([{ kind: "tool", call, tool: look }]);
        return done(outcome?.status === "completed" ? String(outcome.result.content) : "failed");
      }),
      "go",
    ).result;
    expect(result.output).toBe("seen");
    expect(Object.keys(copy ?? {}).toSorted()).toEqual([
      "idempotencyKey",
      "llm",
      "progress",
      "scope",
      "signal",
    ]);
    expect(copy?.signal.aborted).toBe(false);
    expect(copy?.scope.runId).toBe(result.runId);
    expect(copy?.idempotencyKey).toContain(result.runId);
  });
});

test("metadata of a run stays its caller's, who may go on with it", async () => {
  const metadata = { user: { name: "Ada" } };
  let seen: unknown;
  const reader = agent("reader", async (ctx) => {
    metadata.user.name = "Bob";
    seen = ctx.scope.metadata;
    return done("ok");
  });
  expect((await new Runtime().run(reader, "", { metadata }).result).status).toBe("completed");
  expect(seen).toEqual({ user: { name: "Ada" } });
});
