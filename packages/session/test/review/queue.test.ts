import { defineExtension } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { EVENTS, recorder, session, tool } from "../support.ts";

for (const event of EVENTS)
  it(`O19: what is said at any ${event} is heard once, in this run, or is refused`, async () => {
    for (const kind of ["steer", "followUp"] as const)
      for (let nth = 1; nth <= 5; nth++) {
        const log: string[] = [];
        let count = 0;
        let said = 0;
        const model = scriptedModel(
          ({ messages }) => {
            const last = messages.at(-1);
            if (last?.role === "user" && last.content === "Work.")
              return { toolCalls: [{ name: "work", arguments: {}, id: "a" }] };
            return last?.role === "tool" ? "Done." : "Heard.";
          },
          { record: false },
        );
        const agent = session({
          model,
          tools: [tool("work", () => "done")],
          extensions: [
            recorder(log),
            defineExtension({
              name: "speaker",
              on: {
                [event]: () => {
                  if (++count !== nth) return;
                  agent[kind]("And this.");
                  said++;
                },
              },
            }),
          ],
          // It changes nothing, so that all that was said is there to be counted.
          compaction: {
            strategy: { compact: (messages) => messages },
            contextWindow: 1,
            reserveTokens: 0,
          },
        });
        await agent.invoke("Work.");
        const heard = (await agent.sessionManager.messages()).filter(
          ({ content }) => content === "And this.",
        );
        expect(heard).toHaveLength(said);
        expect(agent.hasPendingMessages()).toBe(false);
        expect(log.at(-1)).toBe("settled");
        expect(agent.errors).toEqual([]);
        await agent.close();
      }
  });
