import {
  BudgetExhaustedError,
  CancellationToken,
  type Effect,
  type EffectScope,
  errorToJSON,
  type MaybePromise,
  systemIds,
} from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { expect, test } from "vitest";
import { RootChannel } from "../src/execution/root-channel.ts";
import { pay, type PaymentOptions } from "../src/execution/payment.ts";
import { AdmissionOrder } from "../src/execution/admission-order.ts";
import { MessageBatcher } from "../src/execution/message-batcher.ts";
import { Ingress } from "../src/ingress.ts";
import type { Admission } from "../src/root/messages.ts";

const GO: Admission = {
  verdict: "go",
  attempt: 1,
  at: 5,
  paused: false,
  remaining: { tokens: null, cost: null, turns: 3, toolCalls: null },
  isMetered: true,
  warnings: [],
  reserved: "r1",
};

interface NamedMessage {
  readonly name: string;
  readonly message: Record<string, unknown>;
}

function scene(
  answers: Partial<Record<string, unknown>>,
  run: (scope: EffectScope) => MaybePromise<unknown>,
) {
  const said: NamedMessage[] = [];
  const answer = async (target: { handler: string }, message: Record<string, unknown>): Promise<unknown> => {
    said.push({ name: target.handler, message });
    return answers[target.handler] ?? null;
  };
  const over = new AbortController();
  const token = new CancellationToken();
  const clock = virtualClock({ now: 10 });
  const effect: Effect = {
    kind: "llm",
    key: "llm:m#1",
    what: "a call",
    onDoubt: "retry",
    fingerprint: () => "f",
    begin: () => ({ reserve: { tokens: 4, cost: 0.1, turns: 1, priced: true } }),
    run,
    record: (value) => ({ value: value as string }),
    restore: (body) => body["value"],
    spend: () => undefined,
  };
  const options: PaymentOptions = {
    effect,
    fingerprint: "f",
    from: { at: 5, execId: "run", lane: 3 },
    turn: new AdmissionOrder().next(),
    settle: [{ id: "before", actual: { turns: 1 } }],
    isMetered: true,
    channel: lineOf(answer),
    clock,
    ids: systemIds,
    blobs: undefined,
    token,
    attemptOver: over.signal,
    warn: () => {},
    triedBefore: 0,
  };
  return { said, over, token, clock, options };
}

/** A server that gives prepared answers. */
function lineOf(
  answer: (target: { handler: string }, message: Record<string, unknown>) => Promise<unknown>,
): RootChannel {
  const send = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const [, handler = ""] = /RaviRoot\/run\/(\w+)/.exec(String(url)) ?? [];
    const said = JSON.parse(String(init?.body)) as Record<string, unknown>;
    return Response.json(await answer({ handler }, said));
  };
  const ingress = new Ingress({ url: "http://localhost:8080", fetch: send });
  return new RootChannel(new MessageBatcher(ingress), ingress, "run");
}

test("R18: the first reservation comes with the admission, and what it took goes with the next message", async () => {
  const { said, options } = scene({ admit: GO }, async ({ ledger }) => {
    const held = await ledger?.reserve({ tokens: 4, cost: 0.1, turns: 1 });
    await held?.settle({ tokens: 2, cost: 0.05, turns: 1 });
    return "answer";
  });
  const recorded = await pay(options);
  expect(said.map(({ name }) => name)).toEqual(["admit"]);
  expect(said[0]?.message).toMatchObject({
    lane: 3,
    settle: [{ id: "before" }],
    reserve: { tokens: 4, cost: 0.1, turns: 1 },
  });
  expect(recorded).toMatchObject({ verdict: "done", stored: { here: { value: "answer" } } });
  expect(recorded.settle).toEqual([{ id: "r1", actual: { tokens: 2, cost: 0.05, turns: 1 } }]);
});

test("R18: a second attempt asks for its own money and tells what the first one took; what was never used goes back", async () => {
  const { said, options } = scene({ admit: GO, reserve: { warnings: [] } }, async ({ ledger }) => {
    const first = await ledger?.reserve({ tokens: 4, cost: 0.1, turns: 1 });
    await first?.settle({ turns: 1 });
    const second = await ledger?.reserve({ tokens: 4, cost: 0.1, turns: 1 });
    await second?.cancel();
    return "answer";
  });
  const { settle } = await pay(options);
  expect(said.map(({ name }) => name)).toEqual(["admit", "reserve"]);
  expect(said[1]?.message).toMatchObject({ settle: [{ id: "r1", actual: { turns: 1 } }] });
  const nonces = said.map(({ message }) => Reflect.get(message, "nonce"));
  expect(nonces).toEqual([expect.any(String), nonces[0]]);
  expect(settle).toHaveLength(1);
  const unused = scene({ admit: GO }, async () => "from a cache");
  expect((await pay(unused.options)).settle).toEqual([{ id: "r1" }]);
});

test("R18: what was refused with the admission does not refuse a smaller attempt after it", async () => {
  const refused = errorToJSON(
    new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "lead" }),
  );
  const admit = { ...GO, reserved: undefined, refused };
  const { said, options } = scene({ admit, reserve: { warnings: [] } }, async ({ ledger }) => {
    await expect(ledger?.reserve({ tokens: 4, cost: 0.1, turns: 1 })).rejects.toMatchObject({
      code: "BUDGET_EXHAUSTED",
    });
    await ledger?.reserve({ tokens: 4, cost: 0.001, turns: 1 });
    return "answer";
  });
  expect(await pay(options)).toMatchObject({ stored: { here: { value: "answer" } } });
  expect(said.map(({ name }) => name)).toEqual(["admit", "reserve"]);
  expect(said[1]?.message).toMatchObject({ spend: { cost: 0.001 } });
});

test("R24: errors are values: the engine has nothing to repeat", async () => {
  const { options } = scene({ admit: GO }, async () => {
    throw new RangeError("the provider is gone");
  });
  expect(await pay(options)).toMatchObject({
    verdict: "done",
    stored: { here: { error: { message: "the provider is gone" } } },
  });
});

test("R23: what is not admitted is not made", async () => {
  let made = 0;
  for (const verdict of ["stale", "parked", "stopped", "doubt"] as const) {
    const { options } = scene({ admit: { ...GO, verdict } }, async () => ++made);
    expect((await pay(options)).verdict).toBe(verdict);
  }
  expect(made).toBe(0);
});

test("R24: a zombie that finds its attempt over between admission and payment pays nothing, and takes its mark back", async () => {
  let made = 0;
  const { said, over, options } = scene({ admit: GO }, async () => ++made);
  said.push = (...more) => {
    over.abort();
    return Array.prototype.push.apply(said, more);
  };
  await expect(pay(options)).rejects.toThrow("aborted");
  expect(said.map(({ name }) => name)).toEqual(["admit", "withdraw"]);
  expect(said[1]?.message["nonce"]).toBe(said[0]?.message["nonce"]);
  expect(made).toBe(0);
});

test("R9: a call that is told to stop and does not is left behind, so that the journal need not wait for it", async () => {
  const { options, token, clock } = scene({ admit: GO }, () => {
    token.cancel("enough");
    return new Promise(() => {});
  });
  const paid = pay(options);
  await clock.advance(50);
  expect(await paid).toMatchObject({ stored: { here: { error: { code: "CANCELLED" } } } });
});

test("R18: a model call that is left behind is in doubt, money or not; one that waits for its turn is not", async () => {
  for (const [isWaiting, left] of [
    [false, [{ left: "run:llm:m#1" }]],
    [true, []],
  ] as const) {
    const { options, token, clock } = scene({ admit: { ...GO, reserved: undefined } }, () => {
      token.cancel("enough");
      return new Promise(() => {});
    });
    const effect = { ...options.effect, isSettled: () => isWaiting };
    const paid = pay({ ...options, effect, isMetered: false });
    await clock.advance(50);
    expect((await paid).settle).toEqual(left);
  }
});

test("R24: a call that fails while its agent is stopped has been cut off; one that has an answer, or was not begun, has not", async () => {
  const fail = (): never => {
    throw new TypeError("aborted");
  };
  for (const [isStopped, run, more, isCutOff] of [
    [true, fail, {}, true],
    [false, fail, {}, undefined],
    [true, () => "answer", {}, undefined],
    [true, fail, { isSettled: () => true }, undefined],
    [true, fail, { kind: "tool" }, undefined],
    [true, fail, { kind: "tool", spend: () => ({ toolCalls: 1 }) }, true],
    [false, fail, { kind: "tool", spend: () => ({ toolCalls: 1 }) }, undefined],
  ] as const) {
    const { options, token } = scene({ admit: GO }, () => {
      if (isStopped) token.cancel("enough");
      return run();
    });
    expect((await pay({ ...options, effect: { ...options.effect, ...more } })).isCutOff).toBe(isCutOff);
  }
});

test("R9: a call that is done at once is recorded as it ended, also where it was told to stop meanwhile", async () => {
  const ends: [run: () => unknown, stored: object][] = [
    [() => "at once", { value: "at once" }],
    [() => undefined, {}],
    [
      () => {
        throw new RangeError("thrown at once");
      },
      { error: { message: "thrown at once" } },
    ],
  ];
  for (const [run, here] of ends) {
    for (const isCancelled of [false, true]) {
      const { options, token, clock } = scene({ admit: GO }, () => {
        if (isCancelled) token.cancel("enough");
        return run();
      });
      expect(await pay(options)).toMatchObject({ verdict: "done", stored: { here } });
      expect(clock.pending).toBe(0);
    }
  }
});
