import { RestatePromise } from "@restatedev/restate-sdk";
import {
  errorFromJSON,
  errorToJSON,
  type ExecutionBudgetOptions,
  type HireOutcome,
  type HireSpec,
  isRaviError,
  type JsonObject,
  type RaviError,
  type SerializedError,
  type Supervision,
} from "@ravi/kernel";
import { json } from "../json.ts";
import { outcomeFromJSON } from "../outcome.ts";
import type { Launch } from "../root/messages.ts";
import type { RestateEngine } from "./engine.ts";
import { awaiting, type Steps } from "./steps.ts";

type Asked = {
  readonly at: number;
  readonly keys: readonly string[];
  readonly denied: readonly (SerializedError | null)[];
};

/** A seat that was granted, with its child's end to wait for; or why there is none. */
interface Seat {
  readonly denied?: RaviError | undefined;
  readonly over?: RestatePromise<JsonObject> | undefined;
  readonly late?: RestatePromise<void> | undefined;
  readonly deadline: number;
}

export interface Hiring {
  /** Takes all seats, in the order given. */
  readonly seats: Steps<ReadonlyMap<string, Seat>>;
  /** After that: one child's whole run. */
  of(spec: HireSpec): Steps<HireOutcome>;
}

export function hiring(
  engine: RestateEngine,
  lane: number,
  specs: readonly HireSpec[],
  options: { readonly isSpawn?: boolean } = {},
): Hiring {
  const seats = new Map<string, Seat>();
  return {
    seats: seating(engine, lane, specs, seats, options.isSpawn === true),
    of: (spec) => childOf(engine, lane, spec, seats.get(spec.key)),
  };
}

function* seating(
  engine: RestateEngine,
  lane: number,
  specs: readonly HireSpec[],
  seats: Map<string, Seat>,
  isSpawn: boolean,
): Steps<ReadonlyMap<string, Seat>> {
  if (specs.length === 0) return seats;
  const { context, ports } = engine;
  engine.flush();
  const keys = specs.map(({ key, fingerprint }) => `${key} ${fingerprint}`);
  const asked = context.run(
    "hire",
    async (): Promise<Asked> => {
      const denied = [];
      for (const spec of specs) denied.push(await denialOf(spec));
      return { at: ports.clock.now(), keys, denied };
    },
    { serde: json<Asked>() },
  );
  const { at, denied, keys: recorded } = yield* awaiting(asked, { cut: false });
  for (const [place, key] of keys.entries()) engine.expect(key, recorded[place] ?? "nobody");
  const calls = specs.map((spec, place) => {
    const refused = denied[place];
    if (refused !== undefined && refused !== null) {
      seats.set(spec.key, { denied: errorFromJSON(refused) as RaviError, deadline: at });
      return RestatePromise.resolve({ at, denied: refused });
    }
    const over = isSpawn ? undefined : context.awakeable<JsonObject>(json());
    const { agentId, priority, budget, onFull, timeoutMs } = spec;
    const launch = launchOf(engine, spec, at);
    engine.register(spec.agent);
    engine.hired++;
    const late = timeoutMs === undefined || isSpawn ? undefined : context.sleep(timeoutMs, spec.key);
    seats.set(spec.key, { over: over?.promise, late, deadline: at + (timeoutMs ?? 0) });
    const from = { ...engine.from(lane), at };
    const told = {
      key: spec.key,
      agentId,
      priority: priority ?? null,
      launch,
      budget: limitsOf(budget),
      onFull,
    };
    return engine.call("hire", { ...from, ...told, over: over?.id });
  });
  const hired = yield* awaiting(RestatePromise.all(calls), { cut: false });
  for (const [place, spec] of specs.entries()) {
    const refused = hired[place]?.denied;
    if (refused !== undefined)
      seats.set(spec.key, { denied: errorFromJSON(refused) as RaviError, deadline: at });
  }
  return seats;
}

function* childOf(
  engine: RestateEngine,
  lane: number,
  spec: HireSpec,
  seat: Seat | undefined,
): Steps<HireOutcome> {
  if (seat?.denied !== undefined) return { status: "denied", error: seat.denied };
  if (seat?.over === undefined) throw new TypeError(`${spec.key} was given no seat and not denied one`);
  const over = seat.over.map((outcome) => ({ outcome: outcome ?? {} }));
  let { late } = seat;
  let unseated = 0;
  for (;;) {
    const timer = late?.map(() => ({ outcome: undefined }));
    const first = yield* awaiting(timer === undefined ? over : RestatePromise.race([over, timer]), {
      cut: true,
    });
    if (first.outcome !== undefined) return outcomeFromJSON(first.outcome);
    // Time without a seat is not counted: as long as it was without one, it has longer.
    const call = engine.call("waited", { ...engine.from(lane), child: spec.execId });
    const waited = yield* awaiting(call, { cut: false });
    if (waited > unseated) {
      late = engine.context.sleep(waited - unseated, spec.key);
      unseated = waited;
      continue;
    }
    if (spec.onTimeout === "leave") return { status: "timedOut", handle: engine.handle(spec) };
    late = undefined;
    const stopped = { reason: "", deadline: seat.deadline + unseated };
    engine.send("stop", { at: engine.now(), execId: spec.execId, stopped });
  }
}

/** Not asked again on replay: it is part of what is recorded. */
async function denialOf(spec: HireSpec): Promise<SerializedError | null> {
  try {
    spec.supervision();
    const denied = await spec.denial();
    return denied === undefined ? null : errorToJSON(denied);
  } catch (error) {
    if (!isRaviError(error)) throw error;
    return errorToJSON(error);
  }
}

function launchOf(engine: RestateEngine, spec: HireSpec, at: number): Launch {
  const { start } = engine;
  const seconds = spec.budget?.deadlineS ?? null;
  const own = seconds === null ? Infinity : at + seconds * 1000;
  const deadline = Math.min(own, start.deadline ?? Infinity);
  const supervision: Supervision = spec.supervision();
  return {
    runId: supervision.runId,
    execId: spec.execId,
    agent: spec.agentName,
    supervision: supervision.toJSON(),
    input: spec.input,
    tenantId: start.tenantId,
    userId: start.scope.userId,
    metadata: start.scope.metadata,
    deadline: deadline === Infinity ? null : deadline,
    onPreempt: spec.onPreempt,
  };
}

/** As whoever writes them by hand: a frozen budget says its version in JSON, which is no limit. */
function limitsOf(budget: ExecutionBudgetOptions | undefined): ExecutionBudgetOptions | null {
  if (budget === undefined) return null;
  const { maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS } = budget;
  return { maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS };
}
