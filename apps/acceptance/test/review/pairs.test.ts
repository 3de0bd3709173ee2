import { HookEvent, HookManager } from "@ravi/hooks";
import type { RunEvent } from "@ravi/kernel";
import { contentFilter, MiddlewarePipeline } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, it } from "vitest";

// Two items of the checklist at once: each holds by itself, and must hold beside the other.

describe("J3 × R21: a guard that stops a streamed answer is told of once", () => {
  it.each(["the evil word in the middle", "the last word is evil"])("%s", async (text) => {
    const trips: object[] = [];
    const hooks = new HookManager();
    hooks.on(HookEvent.GUARDRAIL_TRIP, ({ layer, reason }) => void trips.push({ layer, reason }));
    const middleware = { chat: new MiddlewarePipeline([contentFilter({ blocked: ["evil"] })]) };
    const model = scriptedModel([text], { chunkSize: 3 });
    const worker = new ReActAgent({ name: "worker", model, hooks, middleware });
    let shown = "";
    const onEvent = ({ event }: RunEvent): void => void (event.type === "text" && (shown += event.delta));
    const { status } = await new Runtime().run(worker, "x", { onEvent }).result;
    expect(status).toBe("failed");
    expect(shown).not.toContain("evil");
    expect(trips).toEqual([{ layer: "contentFilter", reason: expect.any(String) }]);
  });
});
