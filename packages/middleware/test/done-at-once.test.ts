import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FunctionContext, Layer, MaybePromise, Next } from "@ravi/kernel";
import { MiddlewarePipeline } from "@ravi/middleware";
import { functionContext } from "./support.ts";

type FunctionLayer = Layer<FunctionContext>;

const result = (content: string) => ({ content, isError: false });
const aside: FunctionLayer = (_context, next) => next();

/** Resolves after a turn of the event loop. */
function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("R11: a core that is done at once", () => {
  it.each([0, 1, 3])("gives no promise through %d layers that return what their call gave", (count) => {
    const context = functionContext();
    const pipeline = new MiddlewarePipeline<FunctionContext>(Array.from({ length: count }, () => aside));
    expect(pipeline.runDirect(context, () => void (context.result = result("done")))).toBeUndefined();
    expect(context.result).toEqual(result("done"));
  });

  it("gives one where a layer waits, or where the core does", async () => {
    const waiting: FunctionLayer = async (_context, next) => {
      await next();
    };
    for (const layers of [[waiting], [aside, waiting], [waiting, aside]]) {
      const run = new MiddlewarePipeline<FunctionContext>(layers).runDirect(functionContext(), () => {});
      expect(run).toBeInstanceOf(Promise);
      expect(await run).toBeUndefined();
    }
    const run = new MiddlewarePipeline<FunctionContext>([aside]).runDirect(functionContext(), later);
    expect(run).toBeInstanceOf(Promise);
    await run;
  });

  it("is a promise all the same for whoever calls run", async () => {
    const untyped: () => Promise<void> = (() => {}) as never;
    const run = new MiddlewarePipeline<FunctionContext>([aside]).run(functionContext(), untyped);
    expect(run).toBeInstanceOf(Promise);
    await run;
  });

  it("settles the promise that a layer has kept of it", async () => {
    const heard: string[] = [];
    const listening: FunctionLayer = (_context, next) => {
      const call = next();
      void call.then(() => heard.push("settled"));
      return call;
    };
    const pipeline = new MiddlewarePipeline<FunctionContext>([listening, aside]);
    expect(pipeline.runDirect(functionContext(), () => {})).toBeUndefined();
    await later();
    expect(heard).toEqual(["settled"]);
  });

  it("is over then: a layer that has kept next() begins nothing more with it, and changes nothing", async () => {
    const context = functionContext();
    let kept: Next | undefined;
    let cores = 0;
    const keeping: FunctionLayer = (_context, next) => {
      kept = next;
      return next();
    };
    const pipeline = new MiddlewarePipeline<FunctionContext>([aside, keeping]);
    const run = pipeline.runDirect(context, () => {
      cores++;
      context.result = result("done");
    });
    expect(run).toBeUndefined();
    await expect(kept?.()).rejects.toThrow(/twice/);
    await expect(kept?.again()).rejects.toThrow(/again/);
    await later();
    await expect(kept?.again()).rejects.toThrow(/again/);
    expect([cores, context.result]).toEqual([1, result("done")]);
  });
});

describe("R11: a pipeline with a run of its own", () => {
  class Guarded extends MiddlewarePipeline<FunctionContext> {
    override async run(context: FunctionContext, core: () => Promise<void>): Promise<void> {
      if (context.functionName === "forbidden") throw new Error("not through here");
      await super.run(context, core);
    }
  }

  it.each([[], [aside]])("is not passed by where a core may be done at once", async (...layers) => {
    let cores = 0;
    const guarded = new Guarded(layers);
    const core = (): void => void cores++;
    const forbidden = { ...functionContext(), functionName: "forbidden" };
    await expect(guarded.runDirect(forbidden, core)).rejects.toThrow("not through here");
    expect(cores).toBe(0);
    await guarded.runDirect(functionContext(), core);
    expect(cores).toBe(1);
    const failing = (): void => {
      throw new Error("inner");
    };
    await expect(guarded.runDirect(functionContext(), failing)).rejects.toThrow("inner");
  });
});

/** What layers may do with their call, well and badly. */
const HABITS: Readonly<Record<string, (log: string[]) => FunctionLayer>> = {
  aside: () => aside,
  waiting: (log) => async (_context, next) => {
    await next();
    log.push("waited");
  },
  chained: () => (_context, next) => next().then(() => {}),
  hearing: (log) => (_context, next) => {
    const call = next();
    call.then(
      () => log.push("heard"),
      () => log.push("heard a failure"),
    );
    return call;
  },
  late: () => async (_context, next) => {
    await later();
    await next();
  },
  forgetful: () => async (_context, next) => {
    void next();
  },
  doubling: () => (_context, next) => {
    const call = next();
    void next();
    return call;
  },
  again: () => async (_context, next) => {
    await next();
    await next.again();
  },
  tooEarly: () => (_context, next) => next.again(),
  whileRunning: () => (_context, next) => {
    void next();
    return next.again();
  },
  shortCut: () => async (context) => {
    context.result = result("short");
  },
  catching: () => async (context, next) => {
    try {
      await next();
    } catch (error) {
      context.result = result(`caught ${String(error)}`);
    }
  },
  refusing: () => async (_context, next) => {
    await next();
    throw new Error("refused");
  },
  throwing: () => () => {
    throw new Error("thrown at once");
  },
};

describe("R11: whether a core gives a promise or not, a call comes to the same", () => {
  const names = Object.keys(HABITS);

  async function passing(
    stack: readonly string[],
    core: (context: FunctionContext, log: string[]) => MaybePromise<void>,
  ): Promise<unknown> {
    const log: string[] = [];
    const context = functionContext();
    const layers = stack.map((name) => (HABITS[name] ?? HABITS["aside"])?.(log) ?? aside);
    const pipeline = new MiddlewarePipeline<FunctionContext>(layers);
    let failure: unknown;
    try {
      await pipeline.runDirect(context, () => core(context, log));
    } catch (error) {
      failure = String(error);
    }
    await later();
    await later();
    await later();
    return { failure, log: log.toSorted(), result: context.result };
  }

  it("with up to four layers of any habit, and a core that works or fails", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...names), { maxLength: 4 }),
        fc.boolean(),
        async (stack, isFailing) => {
          const made = (context: FunctionContext, log: string[]): void => {
            log.push("core");
            if (isFailing) throw new Error("inner");
            context.result = result("done");
          };
          const direct = await passing(stack, made);
          expect(direct).toEqual(await passing(stack, async (context, log) => made(context, log)));
        },
      ),
      { numRuns: 400 },
    );
  });
});
