import { createHook } from "node:async_hooks";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  type AgentRunContext,
  type ChatContext,
  type FunctionContext,
  type Layer,
  type Pipeline,
  type Pipelines,
  isRaviError,
  MiddlewareTermination,
} from "@ravi/kernel";
import {
  MiddlewarePipeline,
  piiRedaction,
  cache,
  rateLimiter,
  retry,
  toolCache,
  piiToolRedaction,
} from "@ravi/middleware";
import {
  agentContext,
  answer,
  chatContext,
  closedGate,
  coreOf,
  functionContext,
  thenable,
} from "./support.ts";

type ChatLayer = Layer<ChatContext>;

function logging(name: string, log: string[]): ChatLayer {
  return async (_context, next) => {
    log.push(`${name} in`);
    try {
      await next();
    } finally {
      log.push(`${name} out`);
    }
  };
}

/** Resolves after a turn of the event loop, as a real call does. */
function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("R11: the onion", () => {
  it("R11: layers wrap the call, the first one outermost", async () => {
    const log: string[] = [];
    const pipeline = new MiddlewarePipeline<ChatContext>([logging("a", log), logging("b", log)]).use(
      logging("c", log),
    );
    await pipeline.run(chatContext(), async () => void log.push("core"));
    expect(log).toEqual(["a in", "b in", "c in", "core", "c out", "b out", "a out"]);
  });

  it("R11: an object without a level, as JavaScript may give it, is of its pipeline's level, as a function is", async () => {
    const log: string[] = [];
    const unlevelled = {
      async process(context: ChatContext, next: () => Promise<void>) {
        await next();
        log.push(String(context.result?.message.content));
      },
      admit: () => void log.push("admitted"),
    };
    // @ts-expect-error by its type a layer has a level
    const pipeline = new MiddlewarePipeline<ChatContext>([unlevelled, retry()]);
    expect([pipeline.level, pipeline.hasAdmits]).toEqual(["chat", true]);
    const context = chatContext();
    await pipeline.admit(context, closedGate);
    await pipeline.run(context, async () => void (context.result = answer("said")));
    expect(log).toEqual(["admitted", "said"]);
    // @ts-expect-error the same
    expect(new MiddlewarePipeline<ChatContext>([unlevelled]).level).toBe(undefined);
  });

  it.each(["levle", "Level"])("R11: a misspelt level is not taken for none: %s", (name) => {
    const layer = { [name]: "agent", process: (_: ChatContext, next: () => Promise<void>) => next() };
    // @ts-expect-error by its type a layer has a level
    expect(() => new MiddlewarePipeline<ChatContext>([layer], { level: "chat" })).toThrow(
      `layers[0].${name} is "agent"; expected no field of that name`,
    );
  });

  it("R11: a layer that does not call next short-circuits, and outer layers still unwind", async () => {
    const log: string[] = [];
    const context = chatContext();
    const stop: ChatLayer = async (current) => {
      current.result = answer("from the layer");
    };
    await new MiddlewarePipeline<ChatContext>([logging("a", log), stop, logging("never", log)]).run(
      context,
      async () => void log.push("core"),
    );
    expect(log).toEqual(["a in", "a out"]);
    expect(context.result?.message.content).toBe("from the layer");
  });

  it("R11: a termination passes through all outer layers as it is", async () => {
    const log: string[] = [];
    const error = new MiddlewareTermination({ layer: "guard", reason: "no" });
    const pipeline = new MiddlewarePipeline<ChatContext>([
      logging("a", log),
      async () => {
        throw error;
      },
    ]);
    await expect(pipeline.run(chatContext(), async () => {})).rejects.toBe(error);
    expect(log).toEqual(["a in", "a out"]);
  });

  it("R11: a layer that is no async function refuses by throwing, too", async () => {
    const stop = new MiddlewareTermination({ layer: "guard", reason: "no" });
    const context = chatContext();
    const refuse: ChatLayer = () => {
      throw stop;
    };
    const run = new MiddlewarePipeline<ChatContext>([refuse]).run(context, coreOf(context));
    await expect(run).rejects.toBe(stop);
    expect(context.result).toBeUndefined();
  });

  it("R11: nothing is left of an answer that the outermost layer refuses", async () => {
    const stop = new MiddlewareTermination({ layer: "guard", reason: "no" });
    const context = chatContext();
    const refuse: ChatLayer = async (_context, next) => {
      await next();
      throw stop;
    };
    const run = new MiddlewarePipeline<ChatContext>([refuse]).run(context, coreOf(context));
    await expect(run).rejects.toBe(stop);
    expect(context.result).toBeUndefined();
  });

  it("R11: objects keep their this, and may have process, admit or both", async () => {
    class Counting {
      readonly level = "chat";
      count = 0;
      async process(_context: ChatContext, next: () => Promise<void>): Promise<void> {
        this.count++;
        await next();
      }
      admit(): void {
        this.count += 10;
      }
    }
    const layer = new Counting();
    const pipeline = new MiddlewarePipeline<ChatContext>([layer]);
    expect(pipeline.names).toEqual(["Counting"]);
    const context = chatContext();
    expect(pipeline.admit(context, closedGate)).toBeUndefined();
    await pipeline.run(context, async () => {});
    expect(layer.count).toBe(11);
  });

  it("R11: a pipeline of no layers is a no-op and runs the core itself", async () => {
    const pipeline = new MiddlewarePipeline<ChatContext>();
    expect(pipeline.isNoop).toBe(true);
    const promise = Promise.resolve();
    expect(pipeline.run(chatContext(), () => promise)).toBe(promise);
    expect(pipeline.use(retry()).isNoop).toBe(false);
  });

  it("R11: a call in flight keeps the layers that it began with", async () => {
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const pipeline = new MiddlewarePipeline<ChatContext>([
      async (_context, next) => {
        await gate.promise;
        await next();
      },
    ]);
    const run = pipeline.run(chatContext(), async () => void log.push("core"));
    pipeline.use(logging("late", log));
    gate.resolve();
    await run;
    expect(log).toEqual(["core"]);
  });
});

describe("R11: admit", () => {
  it("runs in order and stops at the first that sets a result", async () => {
    const log: string[] = [];
    const pipeline = new MiddlewarePipeline<ChatContext>([
      { level: "chat", admit: () => void log.push("first") },
      {
        level: "chat",
        async admit(context) {
          await later();
          log.push("second");
          context.result = answer("refused");
        },
      },
      { level: "chat", admit: () => void log.push("never") },
    ]);
    await pipeline.admit(chatContext(), closedGate);
    expect(log).toEqual(["first", "second"]);
  });

  it("asks nobody behind one that refuses at once", () => {
    const log: string[] = [];
    const refuse = (context: ChatContext): void => void (context.result = answer("refused"));
    const pipeline = new MiddlewarePipeline<ChatContext>([
      { level: "chat", admit: refuse },
      { level: "chat", admit: () => void log.push("never") },
    ]);
    expect(pipeline.admit(chatContext(), closedGate)).toBeUndefined();
    expect(log).toEqual([]);
  });

  it("is no promise when no layer gives one", () => {
    expect(new MiddlewarePipeline<ChatContext>([retry()]).admit(chatContext(), closedGate)).toBeUndefined();
  });

  it("waits for the layers behind one that gives something which only looks like a promise", async () => {
    const { promise: denied, resolve: deny } = Promise.withResolvers<void>();
    const pipeline = new MiddlewarePipeline<FunctionContext>([
      { level: "function", admit: () => thenable(undefined) },
      {
        level: "function",
        async admit(context) {
          await denied;
          context.result = { content: "denied", isError: true };
        },
      },
    ]);
    const context = functionContext();
    let isOver = false;
    const admitted = Promise.resolve(pipeline.admit(context, closedGate)).then(() => (isOver = true));
    await later();
    expect(isOver).toBe(false);
    deny();
    await admitted;
    expect(context.result).toEqual({ content: "denied", isError: true });
  });

  it("passes on what a layer throws, at once or later", async () => {
    const boom = new Error("boom");
    const sync = new MiddlewarePipeline<ChatContext>([
      {
        level: "chat",
        admit: () => {
          throw boom;
        },
      },
    ]);
    expect(() => sync.admit(chatContext(), closedGate)).toThrow(boom);
    const async = new MiddlewarePipeline<ChatContext>([{ level: "chat", admit: () => Promise.reject(boom) }]);
    await expect(async.admit(chatContext(), closedGate)).rejects.toBe(boom);
  });
});

describe("R11: misuse is named", () => {
  async function failureOf(layer: ChatLayer, core: () => Promise<void> = later): Promise<unknown> {
    const context = chatContext();
    return new MiddlewarePipeline<ChatContext>([layer]).run(context, core).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it("next() twice is an error that says so and names the layer, also when the layer catches it", async () => {
    const doubling: ChatLayer = async (_context, next) => {
      await next();
      await next().catch(() => {});
    };
    const error = await failureOf(doubling);
    expect(isRaviError(error, "MIDDLEWARE_ERROR") && error.layer).toBe("doubling");
    expect(String(error)).toMatch(/next\(\) twice.*next\.again\(\)/);
  });

  it("a layer without a name goes by its place in the list", async () => {
    const pipeline = new MiddlewarePipeline<ChatContext>([
      retry(),
      async (_context, next) => {
        void next();
      },
    ]);
    await expect(pipeline.run(chatContext(), later)).rejects.toThrow(
      /middleware layers\[1\]: returned while/,
    );
  });

  it("next() twice at once runs the core once, and nothing floats", async () => {
    let cores = 0;
    const error = await failureOf(
      async (_context, next) => {
        await Promise.all([next(), next()]);
      },
      async () => {
        await later();
        cores++;
      },
    );
    expect(String(error)).toMatch(/twice/);
    expect(cores).toBe(1);
  });

  it.each([
    ["that takes a turn of the event loop", later],
    ["that is done at once", async () => {}],
    ["that fails at once", () => Promise.reject(new Error("inner"))],
    [
      "that throws instead of giving a promise",
      () => {
        throw new Error("inner");
      },
    ],
  ])("a forgotten await is an error that says so, with a core %s", async (_what, core) => {
    const forgetful: ChatLayer = async (_context, next) => {
      void next();
    };
    const error = await failureOf(forgetful, core);
    expect(isRaviError(error, "MIDDLEWARE_ERROR") && error.layer).toBe("forgetful");
    expect(String(error)).toMatch(/await next\(\)/);
  });

  it("a forgotten await is reported after the inner call has settled, with its failure as the cause", async () => {
    const log: string[] = [];
    const error = await failureOf(
      async (_context, next) => {
        void next();
      },
      async () => {
        await later();
        log.push("settled");
        throw new Error("inner");
      },
    );
    expect(log).toEqual(["settled"]);
    expect(error instanceof Error && String(error.cause)).toBe("Error: inner");
  });

  it("a forgotten await further in does not let pass what a guard inside refused", async () => {
    const context = chatContext();
    const forgetful: ChatLayer = async (_context, next) => {
      void next();
      await later();
      await later();
    };
    const guard: ChatLayer = async (_context, next) => {
      await next();
      throw new MiddlewareTermination({ layer: "guard", reason: "refused" });
    };
    await new MiddlewarePipeline<ChatContext>([forgetful, guard]).run(context, coreOf(context));
    expect(context.result).toBeUndefined();
  });

  it.each<[string, ChatLayer]>([
    [
      "await",
      async (_context, next) => {
        await next();
      },
    ],
    ["return", (_context, next) => next()],
    ["then", (_context, next) => next().then(() => {})],
    [
      "try and finally",
      async (_context, next) => {
        try {
          await next();
        } finally {
          await later();
        }
      },
    ],
    [
      "await later",
      async (_context, next) => {
        const call = next();
        await later();
        await call;
      },
    ],
  ])("a layer that waits (%s) is never taken for one that does not", async (_how, layer) => {
    for (const core of [later, async () => {}, () => Promise.resolve()]) {
      expect(await failureOf(layer, core)).toBeUndefined();
    }
  });

  it("a layer that drops a failed call leaves no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listener);
    try {
      await failureOf(
        async (_context, next) => {
          void next();
          await later();
          await later();
        },
        () => Promise.reject(new Error("dropped")),
      );
      await later();
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });
});

describe("R11: a layer that returns the promise of its call as it is", () => {
  const aside: ChatLayer = (_context, next) => next();
  const forgetful: ChatLayer = async (_context, next) => {
    void next();
  };
  const atOnce: Readonly<Record<string, () => Promise<void>>> = {
    "is done at once": async () => {},
    "fails at once": () => Promise.reject(new Error("inner")),
  };

  it("costs no promise: ten of them make as many as one", async () => {
    const promises = async (layers: number): Promise<number> => {
      const pipeline = new MiddlewarePipeline<ChatContext>(Array.from({ length: layers }, () => aside));
      let count = 0;
      const counter = createHook({ init: (_id, type) => void (type === "PROMISE" && count++) });
      counter.enable();
      const run = pipeline.run(chatContext(), async () => {});
      counter.disable();
      await run;
      return count;
    };
    expect(await promises(10)).toBe(await promises(1));
    // The core's, and the one around it.
    expect(await promises(1)).toBe(2);
  });

  it.each(Object.entries(atOnce))(
    "hides nobody further out who forgot to await, with a core that %s",
    async (_what, core) => {
      for (const layers of [
        [forgetful, aside],
        [aside, forgetful],
        [aside, forgetful, aside, aside],
      ]) {
        const run = new MiddlewarePipeline<ChatContext>(layers).run(chatContext(), core);
        await expect(run).rejects.toThrow(/forgetful: returned while/);
      }
    },
  );

  it("calls next() again while its call is running: the run fails, and has no result", async () => {
    let cores = 0;
    const refusals: unknown[] = [];
    const twice: ChatLayer = (_context, next) => {
      const call = next();
      setImmediate(() => void next().catch((error: unknown) => refusals.push(error)));
      return call;
    };
    for (const layers of [[twice], [aside, twice, aside], [logging("a", []), twice]]) {
      const context = chatContext();
      const run = new MiddlewarePipeline<ChatContext>(layers).run(context, async () => {
        cores++;
        await later();
        await later();
        context.result = answer("x");
      });
      await expect(run).rejects.toThrow(/twice: called next\(\) twice/);
      expect(context.result).toBeUndefined();
    }
    expect([cores, refusals.length]).toEqual([3, 3]);
  });

  it("is over when its call is: what it begins afterwards is refused and pays nothing", async () => {
    let cores = 0;
    const outcome = Promise.withResolvers<unknown>();
    const late: ChatLayer = (_context, next) => {
      const call = next();
      void call.then(() => next.again()).catch(outcome.resolve);
      return call;
    };
    await new MiddlewarePipeline<ChatContext>([aside, late]).run(chatContext(), async () => void cores++);
    expect(isRaviError(await outcome.promise, "CANCELLED")).toBe(true);
    expect(cores).toBe(1);
  });

  it("passes a failure on as it is, leaves no result and nothing unhandled", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listener);
    try {
      const failure = new Error("inner");
      const context = chatContext();
      const core = async (): Promise<void> => {
        context.result = answer("half");
        await later();
        throw failure;
      };
      const dropping: ChatLayer = async (_context, next) => {
        void next();
        await later();
        await later();
      };
      await expect(new MiddlewarePipeline<ChatContext>([aside, aside]).run(context, core)).rejects.toBe(
        failure,
      );
      expect(context.result).toBeUndefined();
      await new MiddlewarePipeline<ChatContext>([aside, dropping, aside]).run(context, core);
      expect(context.result).toBeUndefined();
      await later();
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });

  it("a layer that returns nothing and calls nothing is no such layer", async () => {
    // @ts-expect-error a layer gives a promise, says the compiler
    const silent: ChatLayer = () => undefined;
    const forgets: ChatLayer = (_context, next) => {
      void next();
      return Promise.resolve();
    };
    await expect(
      new MiddlewarePipeline<ChatContext>([silent]).run(chatContext(), later),
    ).resolves.toBeUndefined();
    for (const inner of [silent, async () => {}]) {
      const run = new MiddlewarePipeline<ChatContext>([forgets, inner]).run(chatContext(), later);
      await expect(run).rejects.toThrow(/forgets: returned while/);
    }
  });
});

describe("R11: next.again", () => {
  it("runs the inner layers and the core anew, each with a fresh next", async () => {
    const log: string[] = [];
    const context = chatContext();
    const thrice: ChatLayer = async (_context, next) => {
      await next();
      await next.again();
      await next.again();
    };
    await new MiddlewarePipeline<ChatContext>([thrice, logging("inner", log)]).run(
      context,
      async () => void log.push("core"),
    );
    expect(log).toEqual(Array.from({ length: 3 }, () => ["inner in", "core", "inner out"]).flat());
  });

  it("begins without the earlier result", async () => {
    const context = chatContext();
    const seen: unknown[] = [];
    const twice: ChatLayer = async (_context, next) => {
      await next();
      await next.again();
    };
    await new MiddlewarePipeline<ChatContext>([twice]).run(context, async () => {
      seen.push(context.result);
      context.result = answer("x");
    });
    expect(seen).toEqual([undefined, undefined]);
  });

  it.each<[string, ChatLayer, RegExp]>([
    ["before next()", async (_context, next) => next.again(), /before next\(\)/],
    [
      "while a call is running",
      async (_context, next) => void (await Promise.all([next(), next.again()])),
      /still running/,
    ],
  ])("%s is an error that says so", async (_when, layer, message) => {
    await expect(new MiddlewarePipeline<ChatContext>([layer]).run(chatContext(), later)).rejects.toThrow(
      message,
    );
  });

  it("a call that was given up begins nothing more, so a late repeat pays nothing", async () => {
    let cores = 0;
    const inner = Promise.withResolvers<void>();
    const outcome = Promise.withResolvers<unknown>();
    const giveUp: ChatLayer = async (_context, next) => {
      void next().catch(() => {});
      throw new Error("too slow");
    };
    const stubborn: ChatLayer = async (_context, next) => {
      await next();
      await inner.promise;
      await next.again().catch((error: unknown) => outcome.resolve(error));
    };
    const run = new MiddlewarePipeline<ChatContext>([giveUp, stubborn]).run(
      chatContext(),
      async () => void cores++,
    );
    await expect(run).rejects.toThrow("too slow");
    await later();
    inner.resolve();
    expect(isRaviError(await outcome.promise, "CANCELLED")).toBe(true);
    expect(cores).toBe(1);
  });
});

describe("R11: what is refused when a pipeline is built", () => {
  it("a layer of another level, named with the level that it belongs to", () => {
    // @ts-expect-error the compiler says it too
    expect(() => new MiddlewarePipeline<ChatContext>([retry(), rateLimiter()])).toThrow(
      /rateLimiter.*agent level.*chat level/,
    );
    // @ts-expect-error a tool's layer
    expect(() => new MiddlewarePipeline<ChatContext>([retry()]).use(toolCache({ tools: [] }))).toThrow(
      /toolCache/,
    );
    const sneaky: ChatLayer = { level: "agent", process: (_context, next) => next() };
    expect(() => new MiddlewarePipeline<ChatContext>([sneaky], { level: "chat" })).toThrow(/agent level/);
  });

  it("what is no layer", () => {
    for (const bad of [
      undefined,
      null,
      7,
      "retry",
      {},
      { level: "chat" },
      { level: "tool", process() {} },
      { level: "chat", process: 7 },
    ]) {
      // @ts-expect-error not a layer
      expect(() => new MiddlewarePipeline<ChatContext>([bad])).toThrow(/layers\[0\]/);
    }
    // @ts-expect-error a factory that was not called is a function, and a layer by its type only
    expect(() => new MiddlewarePipeline<ChatContext>(retry())).toThrow(/an array of layers/);
  });

  it("T9: a cache outside of a redactor, at both levels, also when added later", () => {
    expect(() => new MiddlewarePipeline<ChatContext>([cache(), piiRedaction()])).toThrow(
      /cache.*outside of piiRedaction.*before it/,
    );
    expect(() => new MiddlewarePipeline<ChatContext>([cache(), retry()]).use(piiRedaction())).toThrow(
      /cache/,
    );
    expect(
      () => new MiddlewarePipeline<FunctionContext>([toolCache({ tools: ["a"] }), piiToolRedaction()]),
    ).toThrow(/toolCache/);
    expect(new MiddlewarePipeline<ChatContext>([piiRedaction(), retry(), cache()]).names).toEqual([
      "piiRedaction",
      "retry",
      "cache",
    ]);
  });
});

describe("R11: types", () => {
  it("a pipeline is typed by its level, and fits the kernel's port", () => {
    expectTypeOf(new MiddlewarePipeline([retry(), cache()])).toExtend<Pipeline<ChatContext>>();
    expectTypeOf(new MiddlewarePipeline([rateLimiter()])).toExtend<Pipeline<AgentRunContext>>();
    expectTypeOf(new MiddlewarePipeline([toolCache({ tools: [] })])).toExtend<Pipeline<FunctionContext>>();
    expectTypeOf<{
      agent: MiddlewarePipeline<AgentRunContext>;
      chat: MiddlewarePipeline<ChatContext>;
      function: MiddlewarePipeline<FunctionContext>;
    }>().toExtend<Pipelines>();
    expectTypeOf<MiddlewarePipeline<ChatContext>>().not.toExtend<Pipeline<FunctionContext>>();
    expectTypeOf<MiddlewarePipeline<AgentRunContext>>().not.toExtend<Pipeline<ChatContext>>();
    expectTypeOf<
      Parameters<Extract<Layer<FunctionContext>, (...args: never[]) => unknown>>[0]
    >().toEqualTypeOf<FunctionContext>();
  });

  it("plain functions see their level's fields", async () => {
    const names: string[] = [];
    await new MiddlewarePipeline<AgentRunContext>([
      async (context, next) => {
        names.push(context.sessionId);
        await next();
      },
    ]).run(agentContext(), async () => {});
    await new MiddlewarePipeline<FunctionContext>([
      async (context, next) => {
        names.push(context.functionName);
        await next();
      },
    ]).run(functionContext(), async () => {});
    await new MiddlewarePipeline<ChatContext>([
      async (context, next) => {
        names.push(context.model.id);
        await next();
      },
    ]).run(chatContext(), async () => {});
    expect(names).toEqual(["session-1", "search", "main"]);
  });
});
