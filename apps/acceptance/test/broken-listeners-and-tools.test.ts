import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "@ravi/kernel";
import { HookEvent, HookManager } from "@ravi/hooks";
import { ReActAgent } from "@ravi/react-agent";
import { MemoryJournal } from "@ravi/runtime";
import { RetryPolicy } from "@ravi/supervision";
import { agent, done, governed, handOver, hands, model } from "../src/leading.ts";

const echo = agent("helper", async (_, { input }) => done(`did ${input}`));

describe("what others hang on a run does not change it", () => {
  test("listeners that throw, never settle, or try to change what they are given", async () => {
    const hooks = new HookManager();
    for (const event of Object.values(HookEvent)) {
      hooks.on(event, () => {
        throw new Error("listener");
      });
      hooks.on(event, () => Promise.reject(new Error("listener, later")));
      hooks.on(event, (payload) => {
        Object.assign(payload as object, { agentId: "hijacked", task: "other" });
      });
    }
    const logger = {
      debug: () => {
        throw new Error("logger");
      },
      info: () => {
        throw new Error("logger");
      },
      warn: () => {
        throw new Error("logger");
      },
      error: () => {
        throw new Error("logger");
      },
    };
    const { told, result } = await handOver(
      hands(["helper", "x"]),
      [{ agent: echo }],
      {},
      {},
      governed({ hooks, logger }),
    );
    expect(told).toEqual([{ text: "did x", isError: false }]);
    expect(result.status).toBe("completed");
  });

  test("tools that throw what is no error", async () => {
    for (const thrown of [
      undefined,
      null,
      0,
      "text",
      { code: "CANCELLED" },
      Object.create(null),
      Symbol("s"),
    ]) {
      const odd = defineTool({
        name: "odd",
        description: "",
        input: z.object({}),
        execute: () => {
          throw thrown;
        },
      });
      const child = new ReActAgent({
        name: "child",
        model: model([{ toolCalls: [{ name: "odd" }] }, "went on"]),
        tools: [odd],
      });
      const { told } = await handOver(
        hands(["child", "x"]),
        [{ agent: child }],
        {},
        {},
        governed({ journal: new MemoryJournal() }),
      );
      expect(told).toEqual([{ text: "went on", isError: false }]);
    }
  });

  test("agents that throw what is no error", async () => {
    for (const thrown of [undefined, null, 0, "text", Object.create(null), Symbol("s")]) {
      const child = agent("child", async () => {
        throw thrown;
      });
      const { told } = await handOver(
        hands(["child", "x"]),
        [{ agent: child }],
        { retryPolicy: new RetryPolicy({ maxRetries: 1, baseMs: 0 }) },
        {},
        governed({ journal: new MemoryJournal() }),
      );
      expect(told).toEqual([
        { text: expect.stringMatching(/^error: child did not succeed, even after 1 restart/), isError: true },
      ]);
    }
  });
});
