import { describe, expect, it } from "vitest";
import type { ChatContext } from "@ravi/kernel";
import { contentFilter, MiddlewarePipeline, piiRedaction, promptInjection } from "@ravi/middleware";
import { ADVERSARIAL } from "./adversarial.ts";
import { answer, chatContext, user } from "./support.ts";
import { injectionScore } from "../src/text/scan/injection-score.ts";

describe("T16: hostile texts", () => {
  it.each(Object.entries(ADVERSARIAL))(
    "T16: 100 kB of %s go through every layer that looks at text",
    async (_what, make) => {
      const text = make(100_000);
      const context = chatContext({ messages: [user(text)] });
      await new MiddlewarePipeline<ChatContext>([
        piiRedaction({ sides: "input" }),
        contentFilter({ blocked: ["aaaab", "forbidden words"], sides: "input" }),
        promptInjection({ action: "flag" }),
      ]).run(context, async () => {
        context.result = answer("ok");
      });
      expect(context.result?.finishReason).toBe("stop");
      expect(injectionScore(text)).toBeLessThan(1);
    },
  );
});
