import { expect } from "vitest";
import type { RunEvent } from "@ravi/kernel";
import { agent, done, outputOf, type RuntimeCase, untilWaiting, word } from "./stage.ts";

function namesIn(events: readonly RunEvent[]): string[] {
  return events.flatMap(({ event }) => (event.type === "progress" ? [event.name] : []));
}

/** What the `onEvent` of a caller is told. */
export const onEventCases: readonly RuntimeCase[] = [
  {
    rule: "J3",
    needs: "onEvent",
    says: "onEvent is called with each event of the tree once, in order, before the result is there; an error that it throws changes nothing",
    async run({ create }) {
      const helper = agent("helper", async (ctx) => {
        ctx.emit({ type: "progress", name: "below", data: null });
        return done("helped");
      });
      const teller = agent("teller", async (ctx) => {
        ctx.emit({ type: "progress", name: "first", data: null });
        const helped = outputOf(await ctx.hire({ agent: helper, input: "" }));
        ctx.emit({ type: "progress", name: "last", data: null });
        return done(helped);
      });
      const heard: RunEvent[] = [];
      const onEvent = (event: RunEvent): void => {
        heard.push(event);
        throw new Error("a listener that fails");
      };
      const runtime = await create({ agents: [teller, helper] });
      const { status, output } = await runtime.run(teller, "", { onEvent }).result;
      const told = heard.map(({ seq }) => seq);
      expect([status, output, ...namesIn(heard)]).toEqual(["completed", "helped", "first", "below", "last"]);
      expect(told).toEqual(told.map((_, n) => n + 1));
    },
  },
  {
    rule: "J3",
    needs: "onEvent",
    says: "that of a resumed run hears what comes from then on, once",
    async run({ create, crash }) {
      const patient = agent("patient", async (ctx) => {
        ctx.emit({ type: "progress", name: "before", data: null });
        const go = word(await ctx.waitFor("go"));
        ctx.emit({ type: "progress", name: "after", data: null });
        return done(go);
      });
      const setup = { agents: [patient] };
      const first = await create(setup);
      await untilWaiting(first.run(patient, "", { runId: "heard-1" }));
      await crash(first);
      const second = await create(setup);
      const heard: RunEvent[] = [];
      const { result } = second.resume("heard-1", { onEvent: (event) => void heard.push(event) });
      await second.deliver("heard-1", "go", "gone");
      expect((await result).output).toBe("gone");
      const names = namesIn(heard);
      expect([names.at(-1), names.indexOf("after")]).toEqual(["after", names.length - 1]);
    },
  },
];
