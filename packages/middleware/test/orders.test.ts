import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import {
  type ChatContext,
  type Layer,
  type Next,
  CancellationToken,
  isCancellation,
  isRaviError,
  MiddlewareTermination,
  ProviderError,
} from "@ravi/kernel";
import {
  cache,
  contentFilter,
  fallback,
  MiddlewarePipeline,
  piiRedaction,
  retry,
  timeout,
} from "@ravi/middleware";
import { virtualClock } from "@ravi/testing";
import { answer, chatContext, closedGate, fakeModel, overloaded, user } from "./support.ts";

const SIX: Readonly<Record<string, () => Layer<ChatContext>>> = {
  retry: () => retry({ maxRetries: 2, random: () => 0.5 }),
  fallback: () => fallback({ models: [fakeModel("spare")] }),
  timeout: () => timeout({ timeoutMs: 5_000 }),
  cache: () => cache({ ttlMs: 60_000 }),
  piiRedaction: () => piiRedaction(),
  contentFilter: () => contentFilter({ blocked: ["forbidden"] }),
};

const ORDERS = permutations(Object.keys(SIX));

function permutations(items: readonly string[]): string[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

function isLeaky(order: readonly string[]): boolean {
  return order.indexOf("cache") < order.indexOf("piiRedaction");
}

/** What happens innermost, and what must come of it whatever the order. */
interface Fault {
  /** The innermost layer, or undefined for none. */
  readonly layer?: Layer<ChatContext>;
  readonly core: (seen: Seen) => Promise<void>;
  /** Cancels the run when it has come to a halt. */
  readonly cancels?: boolean;
  readonly expected: (end: End) => void;
}

interface Seen {
  readonly context: ChatContext;
  readonly signal: ChatContext["signal"];
  attempt: number;
}

interface End {
  readonly error: unknown;
  readonly context: ChatContext;
  readonly cores: number;
}

const succeed = async ({ context }: Seen): Promise<void> => {
  context.result = answer("mail me at bob@example.com");
};

const FAULTS: Readonly<Record<string, Fault>> = {
  none: {
    core: succeed,
    expected: ({ error, context, cores }) => {
      expect(error).toBeUndefined();
      expect(context.result?.message.content).toBe("mail me at [EMAIL]");
      expect(cores).toBe(1);
    },
  },
  "short-circuit": {
    layer: async (context) => {
      context.result = answer("from a layer");
    },
    core: succeed,
    expected: ({ error, context, cores }) => {
      expect(error).toBeUndefined();
      expect(context.result?.message.content).toBe("from a layer");
      expect(cores).toBe(0);
    },
  },
  "double next": {
    layer: async function doubling(_context, next) {
      await next();
      await next();
    },
    core: succeed,
    expected: ({ error, context, cores }) => {
      expect(String(error)).toMatch(/doubling: called next\(\) twice/);
      expect(context.result).toBeUndefined();
      expect(cores).toBe(1);
    },
  },
  "forgotten await": {
    layer: async function forgetful(_context, next) {
      void next();
    },
    core: succeed,
    expected: ({ error, context }) => {
      expect(String(error)).toMatch(/forgetful: returned while/);
      expect(context.result).toBeUndefined();
    },
  },
  "a fatal error": {
    core: async () => {
      throw new ProviderError({ kind: "AUTH", message: "no key" });
    },
    expected: ({ error, cores }) => {
      expect(isRaviError(error, "PROVIDER_ERROR") && error.kind).toBe("AUTH");
      expect(cores).toBe(1);
    },
  },
  "a termination": {
    core: async () => {
      throw new MiddlewareTermination({ layer: "guard", reason: "no" });
    },
    expected: ({ error, cores }) => {
      expect(isRaviError(error, "MIDDLEWARE_TERMINATION")).toBe(true);
      expect(cores).toBe(1);
    },
  },
  "a temporary error": {
    core: async (seen) => {
      if (seen.attempt === 1) throw overloaded();
      await succeed(seen);
    },
    expected: ({ error, context, cores }) => {
      expect(error).toBeUndefined();
      expect(context.result?.message.content).toBe("mail me at [EMAIL]");
      expect(cores).toBe(2);
    },
  },
  "a blocked word": {
    core: async ({ context }) => {
      context.result = answer("this is Forbidden");
    },
    expected: ({ error, context, cores }) => {
      expect(isRaviError(error, "MIDDLEWARE_TERMINATION") && error.layer).toBe("contentFilter");
      expect(context.result).toBeUndefined();
      expect(cores).toBe(1);
    },
  },
  "a call that hangs and does not listen": {
    core: () => new Promise(() => {}),
    expected: ({ error, context }) => {
      expect(isRaviError(error, "PROVIDER_ERROR") && error.kind).toBe("TIMEOUT");
      expect(context.result).toBeUndefined();
    },
  },
  "a call that hangs and is cancelled": {
    core: ({ signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
      ),
    cancels: true,
    expected: ({ error, cores }) => {
      expect(isCancellation(error)).toBe(true);
      expect(cores).toBe(1);
    },
  },
};

type Build = (
  layers: readonly Layer<ChatContext>[],
) => Pick<MiddlewarePipeline<ChatContext>, "admit" | "run">;

const build: Build = (layers) => new MiddlewarePipeline<ChatContext>(layers);

/** Runs one order with one fault, and looks that every layer which was entered was left, and that nothing is left behind. */
async function assertCase(order: readonly string[], fault: Fault, make: Build): Promise<void> {
  const clock = virtualClock();
  const token = new CancellationToken();
  const context = chatContext({ clock, token, messages: [user("I am alice@example.com")] });
  const open = new Set<string>();
  let entered = 0;
  const probe =
    (name: string): Layer<ChatContext> =>
    async (_context: ChatContext, next: Next) => {
      const visit = `${name} ${++entered}`;
      open.add(visit);
      try {
        await next();
      } finally {
        open.delete(visit);
      }
    };
  const layers = order.flatMap((name, at) =>
    [probe(`before ${at}`), SIX[name]?.()].filter((layer) => layer !== undefined),
  );
  const pipeline = make([...layers, probe("innermost"), ...(fault.layer === undefined ? [] : [fault.layer])]);
  await pipeline.admit(context, closedGate);
  expect(context.request.messages).toEqual([user("I am [EMAIL]")]);

  let cores = 0;
  let end: { error: unknown } | undefined;
  void pipeline
    .run(context, async () => {
      const attempt = ++cores;
      const { signal } = context;
      await fault.core({ context, signal, attempt });
    })
    .then(
      () => (end = { error: undefined }),
      (error: unknown) => (end = { error }),
    );
  if (fault.cancels === true) {
    await clock.advance(10);
    token.cancel("enough");
  }
  await clock.runAll();
  if (end === undefined) throw new Error("the run did not end");
  fault.expected({ error: end.error, context, cores });
  // A call that hangs for ever keeps what stands inside of the time limit; everything else has been left.
  const isDeaf = isRaviError(end.error, "PROVIDER_ERROR") && end.error.kind === "TIMEOUT";
  const reach = order.indexOf("timeout");
  const left = [...open].filter((visit) => !isDeaf || Number(/before (\d)/.exec(visit)?.[1] ?? 9) <= reach);
  expect(left).toEqual([]);
  expect(clock.pending).toBe(0);
  if (!isDeaf) expect(getEventListeners(token.signal, "abort")).toEqual([]);
}

describe("T9: all orders of six built-ins", () => {
  it("there are 720, and the half with the cache outside of the redactor is refused", () => {
    expect(ORDERS).toHaveLength(720);
    const refused = ORDERS.filter((order) => {
      try {
        build(order.map((name) => SIX[name]?.()).filter((layer) => layer !== undefined));
        return false;
      } catch (error) {
        return isRaviError(error, "MIDDLEWARE_ERROR");
      }
    });
    expect(refused).toEqual(ORDERS.filter(isLeaky));
    expect(refused).toHaveLength(360);
  });

  it.each(Object.entries(FAULTS))("T9: every allowed order with %s", async (_name, fault) => {
    for (const order of ORDERS.filter((list) => !isLeaky(list))) {
      await expect(assertCase(order, fault, build)).resolves.toBeUndefined();
    }
  });
});

describe("T9: the matrix bites", () => {
  const order = ["piiRedaction", "retry", "fallback", "timeout", "cache", "contentFilter"];

  /** An onion as it is written in a hurry. */
  const naive =
    (next: (inner: () => Promise<void>) => () => Promise<void>): Build =>
    (layers) => {
      const real = new MiddlewarePipeline<ChatContext>(layers);
      return {
        admit: (context, gate) => real.admit(context, gate),
        run: (context, core) =>
          layers.reduceRight<() => Promise<void>>((inner, layer) => {
            const go = next(inner) as Next;
            go.again = inner;
            return async () => {
              if (typeof layer === "function") await layer(context, go);
              else if (layer.process === undefined) await inner();
              else await layer.process(context, go);
            };
          }, core)(),
      };
    };

  const bugs: readonly (readonly [string, string, Build])[] = [
    ["next() is not counted", "double next", naive((inner) => () => inner())],
    ["a forgotten await passes", "forgotten await", naive((inner) => () => inner())],
    [
      "the core runs after a short-circuit",
      "short-circuit",
      (layers) => {
        const real = build(layers);
        return {
          admit: (...args) => real.admit(...args),
          run: (context, core) => real.run(context, core).then(core),
        };
      },
    ],
    [
      "outer layers are not left after an error",
      "a fatal error",
      naive((inner) => () => new Promise((resolve) => void inner().then(resolve, () => {}))),
    ],
  ];

  it.each(bugs)("T9: a pipeline in which %s fails it", async (_bug, faultName, mutant) => {
    const fault = FAULTS[faultName];
    if (fault === undefined) throw new Error("no such fault");
    await expect(assertCase(order, fault, build)).resolves.toBeUndefined();
    await expect(assertCase(order, fault, mutant)).rejects.toThrow(/expected|did not end/);
  });
});
