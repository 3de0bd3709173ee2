import { defineExtension, MemorySessionStore, type SessionLog, type SessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { EVENTS, recorder, session, tool } from "./support.ts";

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

it("O19: a follow-up whose turn is aborted before it is stored waits for the next turn", async () => {
  for (const event of ["input", "before_agent_start"] as const) {
    let count = 0;
    const agent = session({
      model: scriptedModel(() => "Heard.", { record: false }),
      extensions: [
        defineExtension({
          name: "aborter",
          on: {
            [event]: () => {
              if (++count === 1) agent.followUp("And this.");
              if (count === 2) expect(agent.abort()).toEqual([]);
            },
          },
        }),
      ],
    });
    await expect(agent.invoke("Work.")).rejects.toMatchObject({ code: "CANCELLED" });
    expect(agent.hasPendingMessages()).toBe(true);
    await agent.invoke("Go on.");
    const said = (await agent.sessionManager.messages()).filter(({ role }) => role === "user");
    expect(said.map(({ content }) => content)).toEqual(["Work.", "Go on.", "And this."]);
    expect(agent.errors).toEqual([]);
    await agent.close();
  }
});

it("O19: what could not be stored because the disk failed waits for the next turn, in its order", async () => {
  const memory = new MemorySessionStore();
  const failing = new Set<string>();
  const store: SessionStore = {
    list: () => memory.list(),
    delete: (id) => memory.delete(id),
    open(id) {
      const log = memory.open(id);
      const append: SessionLog["append"] = (entries, begin) => {
        // With its quotes: the path of the checkout, which is stored too, may contain a word of three letters.
        const text = JSON.stringify(entries);
        if ([...failing].some((each) => text.includes(`"${each}"`))) throw new Error("the disk is full");
        return log.append(entries, begin);
      };
      return Object.assign(Object.create(log) as SessionLog, { append });
    },
  };
  for (const [kind, bad] of [
    ["steer", "two"],
    ["followUp", "one"],
  ] as const) {
    failing.add(bad);
    const agent = session({
      store,
      sessionId: kind,
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.content === "Work." ? { toolCalls: [{ name: "work", arguments: {} }] } : "Heard.",
      ),
      tools: [tool("work", () => ["one", "two", "three"].forEach((each) => agent[kind](each)))],
    });
    await expect(agent.invoke("Work.")).rejects.toThrow("the disk is full");
    failing.clear();
    await agent.invoke("Go on.");
    const said = (await agent.sessionManager.messages()).filter(({ role }) => role === "user");
    const heard = said.map(({ content }) => content).filter((each) => each !== "Go on.");
    expect(heard).toEqual(["Work.", "one", "two", "three"]);
    expect(agent.errors).toEqual([]);
    await agent.close();
  }
});

it("O19: what is said at any moment while a run ends is heard in this run, or is refused", async () => {
  const run = { isOver: false };
  for (let wait = 0; !run.isOver; wait++) {
    let isSaid = false;
    const agent = session({
      model: scriptedModel(() => "ok", { record: false }),
      extensions: [
        defineExtension({
          name: "speaker",
          on: {
            save_point() {
              if (isSaid) return;
              isSaid = true;
              let later = Promise.resolve();
              for (let n = 0; n < wait; n++) later = later.then(() => {});
              void later.then(() => agent.followUp("And this.")).catch(() => (run.isOver = true));
            },
          },
        }),
      ],
    });
    await agent.invoke("x");
    // So that it is said by now, if it was late.
    await new Promise(setImmediate);
    expect([wait, agent.hasPendingMessages()]).toEqual([wait, false]);
    expect((await agent.sessionManager.messages()).length).toBe(run.isOver ? 2 : 4);
    await agent.close();
  }
});
