import { getEventListeners } from "node:events";
import { isCancellation } from "@ravi/kernel";
import { expect } from "vitest";
import type { Answer } from "../../answers/answer.ts";
import {
  ask,
  type Asked,
  failureOf,
  type ModelCase,
  type ModelStage,
  promptly,
  streamOf,
  waysOf,
} from "./stage.ts";

const REASON = "the user pressed stop";

export const cancellationCases: readonly ModelCase[] = [
  {
    rule: "T4",
    says: "a signal that was aborted before sends nothing",
    async run(stage) {
      for (const way of waysOf(stage)) {
        const opened = await stage.open(["ok"]);
        const signal = AbortSignal.abort(REASON);
        expectCancelled(await failureOf(way.name, way.call(opened.client, ask("go"), { signal })));
        expect(opened.requests()).toBe(0);
      }
    },
  },
  silenceCase("while the server is silent", { fault: { type: "hang" } }),
  silenceCase("after the headers", { text: "ok", fault: { type: "hang", afterDeltas: 0 } }),
  {
    rule: "T4",
    says: "an abort in the middle of a stream ends it at once, and no finish follows",
    needs: ["hang", "streaming"],
    async run(stage) {
      const text = "a text of some length, in several pieces";
      const { client, arrived } = await stage.open([{ text, fault: { type: "hang", afterDeltas: 2 } }]);
      const controller = new AbortController();
      const seen: string[] = [];
      const read = async (): Promise<void> => {
        for await (const event of streamOf(client, ask("go"), { signal: controller.signal })) {
          seen.push(event.type);
          controller.abort(REASON);
        }
      };
      expectCancelled(await failureOf("the stream", read()));
      expect(seen).toContain("text");
      expect(seen).not.toContain("finish");
      await expectClosed(stage, await arrived(1));
    },
  },
  {
    rule: "T4",
    says: "a listener that stops reading closes the connection",
    needs: ["hang", "streaming", "seesClose"],
    async run(stage) {
      const text = "a text of some length, in several pieces";
      const { client, arrived } = await stage.open([{ text, fault: { type: "hang", afterDeltas: 2 } }]);
      for await (const event of streamOf(client, ask("go"))) {
        expect(event.type).toBe("text");
        break;
      }
      await expectClosed(stage, await arrived(1));
    },
  },
  {
    rule: "T4",
    says: "a call leaves no listener on its caller's signal",
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open(["ok", new Error("no")]);
        const { signal } = new AbortController();
        await way.call(client, ask("go"), { signal });
        await failureOf(way.name, way.call(client, ask("go"), { signal }));
        expect(getEventListeners(signal, "abort")).toHaveLength(0);
      }
    },
  },
  {
    rule: "T4",
    says: "a stream that is left before its end no longer listens to its caller's signal",
    needs: ["streaming"],
    async run(stage) {
      const { client } = await stage.open(["a text of some length, in several pieces"]);
      const { signal } = new AbortController();
      for await (const event of streamOf(client, ask("go"), { signal })) {
        expect(event.type).toBe("text");
        break;
      }
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    },
  },
  {
    rule: "T4",
    says: "an abort after the answer changes nothing",
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open(["ok", "ok"]);
        const controller = new AbortController();
        const response = await way.call(client, ask("go"), { signal: controller.signal });
        controller.abort(REASON);
        expect(response.finishReason).toBe("stop");
        expect((await way.call(client, ask("go"))).finishReason).toBe("stop");
      }
    },
  },
];

function silenceCase(when: string, answer: Answer): ModelCase {
  return {
    rule: "T4",
    says: `an abort ${when} ends the call at once`,
    needs: ["hang"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client, arrived } = await stage.open([answer]);
        const controller = new AbortController();
        const failed = failureOf(way.name, way.call(client, ask("go"), { signal: controller.signal }));
        const asked = await promptly("the request", arrived(1));
        controller.abort(REASON);
        expectCancelled(await failed);
        await expectClosed(stage, asked);
      }
    },
  };
}

function expectCancelled(error: unknown): void {
  if (!isCancellation(error))
    throw new Error("an abort is a CancellationError, and this is not one", { cause: error });
  expect(error.reason).toBe(REASON);
}

/** Waits until the server has noticed that its client is gone. */
async function expectClosed(stage: ModelStage, { signal }: Asked): Promise<void> {
  if (!stage.has("seesClose")) return;
  if (signal === undefined) throw new Error("the suite sees a close, and the script's call has no signal");
  const gone = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await promptly("the connection", gone);
}
