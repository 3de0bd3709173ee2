import { expect } from "vitest";
import type { Agent, Inbox } from "@ravi/kernel";
import { scriptedModel } from "../../scripted-model.ts";
import { expectRefused, offered } from "../case.ts";
import {
  agent,
  done,
  outputOf,
  refuseWithoutEnd,
  type RuntimeCase,
  type RuntimeUnderTest,
  say,
  until,
  untilWaiting,
  word,
} from "./stage.ts";

type Send = NonNullable<RuntimeUnderTest["send"]>;

function sendingOf(runtime: RuntimeUnderTest): Send {
  const send = offered(runtime, "send", { says: "a message to an agent at work" });
  return (...sent) => send.apply(runtime, sent);
}

/** Says what it is told, in order, until somebody says "stop". */
function listener(onHeard: () => void = () => {}): Agent {
  return agent("listener", async (_ctx, inbox) => {
    const heard: string[] = [];
    for (;;) {
      const { from, content } = await inbox.receive();
      if (content === "stop") return done(heard.join("; "));
      heard.push(`${from}: ${word(content)}`);
      onHeard();
    }
  });
}

/** Everything that has come, as a loop reads it between two turns. */
async function readAll(inbox: Inbox): Promise<string[]> {
  const heard: string[] = [];
  while (inbox.hasMail?.() === true) heard.push(word((await inbox.take())?.content));
  return heard;
}

const REFUSED = { code: "INVALID_VALUE" } as const;

/** Messages from outside to agents at work. */
export const sendCases: readonly RuntimeCase[] = [
  {
    rule: "R24",
    needs: "send",
    says: "messages to an agent at work are read in the order in which they were sent, and the same id counts once",
    async run({ create }) {
      const hears = listener();
      const runtime = await create({ agents: [hears] });
      const send = sendingOf(runtime);
      const { result } = runtime.run(hears, "", { runId: "sent-1" });
      await send("sent-1", "one");
      await send("sent-1", { two: 2 }, { from: "ada", id: "m2" });
      await send("sent-1", { two: 2 }, { from: "ada", id: "m2" });
      await send("sent-1", "stop");
      expect((await result).output).toBe('user: one; ada: {"two":2}');
    },
  },
  {
    rule: "R24",
    needs: "send",
    says: "pictures and files come with a message",
    async run({ create }) {
      const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
      const seer = agent("seer", async (_ctx, inbox) => {
        const { content, attachments } = await inbox.receive();
        return done(`${word(content)} ${JSON.stringify(attachments)}`);
      });
      const runtime = await create({ agents: [seer] });
      const { result } = runtime.run(seer, "", { runId: "sent-2" });
      await sendingOf(runtime)("sent-2", "look", { attachments: [picture] });
      expect((await result).output).toBe(`look ${JSON.stringify([picture])}`);
    },
  },
  {
    rule: "R24",
    needs: "send",
    says: "a message can be sent to a child, also before the child is there; one to somebody who cannot be of the run is refused",
    async run({ create }) {
      const hears = listener();
      const lead = agent("lead", async (ctx) => {
        await ctx.waitFor("hire");
        return done(outputOf(await ctx.hire({ agent: hears, input: "" })));
      });
      const runtime = await create({ agents: [lead, hears] });
      const send = sendingOf(runtime);
      const handle = runtime.run(lead, "", { runId: "sent-3" });
      await untilWaiting(handle);
      const to = "sent-3/hire:listener#1";
      await send("sent-3", "early", { to });
      await runtime.deliver("sent-3", "hire", true);
      for (const stranger of ["other", "sent-33", "sent-30/hire:listener#1", ""])
        await expectRefused(REFUSED, () => send("sent-3", "hello", { to: stranger }));
      await send("sent-3", "stop", { to });
      expect((await handle.result).output).toBe("user: early");
    },
  },
  {
    rule: "R24",
    needs: "send",
    says: "a message to a child or a run that has ended is refused, unless it was read before",
    async run({ create }) {
      const brief = agent("brief", async (_ctx, inbox) => done(word((await inbox.receive()).content)));
      const lead = agent("lead", async (ctx) => {
        await ctx.hire({ agent: brief, input: "" });
        return done(word(await ctx.waitFor("go")));
      });
      const runtime = await create({ agents: [lead, brief] });
      const send = sendingOf(runtime);
      const handle = runtime.run(lead, "", { runId: "sent-4" });
      const to = "sent-4/hire:brief#1";
      await send("sent-4", "in time", { to, id: "m1" });
      await untilWaiting(handle);
      await expectRefused({ ...REFUSED, field: "send options.to" }, () => send("sent-4", "late", { to }));
      await send("sent-4", "in time", { to, id: "m1" });
      await runtime.deliver("sent-4", "go", "gone");
      expect((await handle.result).output).toBe("gone");
      await expectRefused({ ...REFUSED, field: "runId" }, () => send("sent-4", "too late"));
      await send("sent-4", "in time", { to, id: "m1" });
    },
  },
  {
    rule: "R24",
    needs: "send",
    says: "what was read before a crash is not read again, and what came meanwhile is",
    async run({ create, crash }) {
      let heard = 0;
      const hears = listener(() => heard++);
      const setup = { agents: [hears] };
      const first = await create(setup);
      first.run(hears, "", { runId: "sent-5" }).result.catch(() => {});
      await sendingOf(first)("sent-5", "before");
      await until(() => heard === 1);
      await crash(first);
      const second = await create(setup);
      const { result } = second.resume("sent-5");
      for (const said of ["meanwhile", "stop"]) await sendingOf(second)("sent-5", said);
      expect((await result).output).toBe("user: before; user: meanwhile");
    },
  },
  {
    rule: "R24",
    needs: "send",
    says: "an agent that looks between its steps whether there is mail finds what came during one, and does the same steps after a crash",
    async run({ create, crash }) {
      const sent = Promise.withResolvers<void>();
      let isAtWork = false;
      const model = scriptedModel(async () => {
        isAtWork = true;
        await sent.promise;
        return "ok";
      });
      const busy = agent("busy", async (ctx, inbox) => {
        const heard: string[] = [];
        while (heard.length < 2) {
          await ctx.llm(model, say("a step"));
          refuseWithoutEnd(model.calls.length);
          heard.push(...(await readAll(inbox)));
        }
        heard.push(word(await ctx.waitFor("go")));
        heard.push(...(await readAll(inbox)));
        return done(heard.join(" "));
      });
      const setup = { agents: [busy] };
      const first = await create(setup);
      const handle = first.run(busy, "", { runId: "sent-6" });
      await until(() => isAtWork);
      for (const said of ["one", "two"]) await sendingOf(first)("sent-6", said);
      sent.resolve();
      await untilWaiting(handle);
      const calls = model.calls.length;
      await crash(first);
      const second = await create(setup);
      const resumed = second.resume("sent-6");
      await untilWaiting(resumed);
      // Sent before it goes on, so it is there when it does.
      await sendingOf(second)("sent-6", "three");
      await second.deliver("sent-6", "go", "go");
      expect((await resumed.result).output).toBe("one two go three");
      expect(model.calls.length).toBe(calls);
    },
  },
  {
    rule: "R24",
    needs: "send",
    says: "what a parent asks is read between two steps by a child that looks whether there is mail",
    async run({ create }) {
      let isAtWork = false;
      const model = scriptedModel(async () => {
        isAtWork = true;
        await new Promise((resolve) => setTimeout(resolve, 1));
        return "ok";
      });
      const clerk = agent("clerk", async (ctx, inbox) => {
        for (;;) {
          await ctx.llm(model, say("a step"));
          const message = inbox.hasMail?.() === true ? await inbox.take() : undefined;
          if (message === undefined) continue;
          await inbox.reply(message, { heard: message.content });
          return done("answered");
        }
      });
      const lead = agent("lead", async (ctx) => {
        const handle = await ctx.spawn(clerk, { input: "" });
        await ctx.waitFor("ask");
        const reply = await ctx.ask(handle, "how far?");
        return done(`${word(reply)} ${outputOf(await ctx.join(handle))}`);
      });
      const runtime = await create({ agents: [lead, clerk] });
      const { result } = runtime.run(lead, "", { runId: "sent-7" });
      await until(() => isAtWork);
      await runtime.deliver("sent-7", "ask", true);
      expect((await result).output).toBe('{"heard":"how far?"} answered');
    },
  },
];
