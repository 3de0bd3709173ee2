import {
  DeadlineExceededError,
  type Effect,
  type EffectScope,
  errorFromJSON,
  errorToJSON,
  type ExecId,
  type HireOutcome,
  type HireSpec,
  isRaviError,
  type JsonObject,
  type JsonValue,
  type Usage,
  NeedsDecisionError,
  type RaviError,
  type RunHandle,
  type SchemaLike,
  type SerializedError,
  type Settled,
  type WaitSpec,
} from "@ravi/kernel";
import { readOutcome } from "@ravi/kernel/loop";
import {
  hireStatus,
  NOTHING_USED,
  outcomeToJSON,
  restoreOutcome,
  usageIn,
  usageToJSON,
} from "../../src/engine/hire-record.ts";

import { PositionLog } from "./position-log.ts";

/** What the operations are made of: the closure of an effect, the seat and the outcome of a hire, the wait for a signal. */
export class PositionalWork extends PositionLog {
  /** The schemas of children that can be joined. */
  protected readonly outputs = new Map<ExecId, SchemaLike | undefined>();

  /** The closure of an effect: admission by the root object, then the payment; errors are values. */
  protected async pay(effect: Effect): Promise<Settled> {
    const { world, own, epoch } = this;
    const { execId } = this.start;
    const idempotencyKey = `${execId}:${effect.key}`;
    const act = async (): Promise<JsonObject> => {
      const begin = JSON.stringify(await effect.begin());
      const attempt = await world.remote(() => {
        const times = (world.marks.get(idempotencyKey) ?? 0) + 1;
        world.marks.set(idempotencyKey, times);
        if (times > 1) world.inDoubt.add(idempotencyKey);
        return begin === "" ? 0 : times;
      });
      if (attempt > 1 && effect.onDoubt === "ask" && world.decide !== "retry") {
        const { key, what } = effect;
        const decision = world.decide === "ask" ? world.decisions.get(idempotencyKey) : world.decide;
        if (decision === "skip" && effect.skipped !== undefined) return effect.record(effect.skipped());
        if (decision === "fail")
          return { error: errorToJSON(new NeedsDecisionError({ execId, key, what, decided: decision })) };
        if (decision === undefined) throw (this.suspension = new NeedsDecisionError({ execId, key, what }));
      }
      await world.place(epoch);
      const { ledger } = own;
      const scope: EffectScope = {
        idempotencyKey,
        attempt,
        spent: (spent) => this.count(spent),
        ledger:
          ledger === undefined
            ? undefined
            : { reserve: async (estimate, options) => world.remote(() => ledger.reserve(estimate, options)) },
      };
      try {
        return effect.record(await effect.run(scope));
      } catch (error) {
        const spend = effect.spend();
        return { error: errorToJSON(error), ...(spend !== undefined && { spend }) };
      }
    };
    const body = await this.entry("run", effect.key, effect.fingerprint(), act, (known) => {
      effect.replayed?.(known);
      const spend = known["spend"] as { usage?: Usage; cost?: number } | undefined;
      if (spend?.usage !== undefined) this.count({ usage: spend.usage, costUsd: spend.cost ?? 0 });
    });
    if (body["error"] === undefined) return { ok: true, value: effect.restore(body) };
    return { ok: false, error: errorFromJSON(body["error"] as SerializedError) };
  }

  /** One call of the root object: it takes the seat, decides the times, and starts the child. */
  protected async seat(spec: HireSpec): Promise<JsonObject> {
    const { world, own, start } = this;
    return this.entry("hire", spec.key, spec.fingerprint, async () => {
      try {
        const denied = await spec.denial();
        if (denied !== undefined) throw denied;
        const supervision = spec.supervision();
        const { agent, execId, agentId, input, attachments, onPreempt, budget } = spec;
        const { priority, onFull } = spec;
        const parentId = start.supervision.agentId;
        if (!world.executions.has(execId)) {
          if (onFull === "deny") await world.headcount?.acquire(agentId, priority, { parentId });
          else await world.headcount?.acquire(agentId, priority, { parentId, onFull });
        }
        const now = world.clock.now();
        const seconds = budget?.deadlineS ?? null;
        const mine = seconds === null ? Infinity : now + seconds * 1000;
        const earliest = Math.min(mine, start.deadline ?? Infinity);
        const deadline = earliest === Infinity ? null : earliest;
        own.children.push(execId);
        const { scope, tenantId } = start;
        const given = { input, attachments };
        const born = { agent, execId, supervision, ...given, scope, tenantId, deadline, onPreempt } as const;
        world.open({ ...born, isResumed: false }, own.ledger?.child(budget ?? {}, agentId));
        return { until: spec.timeoutMs === undefined ? null : now + spec.timeoutMs };
      } catch (error) {
        if (!isRaviError(error)) throw error;
        return { denied: errorToJSON(error) };
      }
    });
  }

  protected async outcome(spec: HireSpec, seat: JsonObject): Promise<HireOutcome> {
    const { world } = this;
    if (seat["denied"] !== undefined) {
      const error = errorFromJSON(seat["denied"] as SerializedError) as RaviError;
      return { status: "denied", error, ...NOTHING_USED };
    }
    const body = await this.entry("outcome", spec.key, "", async () => {
      const over = world.whenOver(spec.execId);
      const until = seat["until"];
      const late = typeof until === "number" ? [this.timer(until).then(() => undefined)] : [];
      const first = await this.orCancelled(Promise.race([over, ...late]));
      if (first !== undefined) return outcomeToJSON(first);
      if (spec.onTimeout === "leave") return { late: true, ...usageToJSON(world.usedBelow(spec.execId)) };
      world.cancel(spec.execId, new DeadlineExceededError({ deadline: Number(until) }));
      return outcomeToJSON(await over);
    });
    if (body["late"] !== true) return readOutcome(restoreOutcome(body), spec.agent.output);
    return { status: "timedOut", handle: this.handle(spec), ...usageIn(body) };
  }

  protected async signal({ key, name, onWait }: WaitSpec): Promise<JsonValue> {
    const { world, start } = this;
    const body = await this.entry("signal", key, "", async () => {
      const next = (): JsonValue | undefined => world.take(`${start.execId}:${key}`, name);
      if (next() === undefined) onWait?.();
      world.waiting++;
      try {
        return { value: await this.orCancelled(world.until(next)) };
      } finally {
        if (this.epoch === world.epoch) world.waiting--;
      }
    });
    return body["value"] ?? null;
  }

  protected handle({ execId, agentId, agent }: HireSpec): RunHandle {
    const { world, start } = this;
    this.outputs.set(execId, agent.output);
    return {
      runId: start.supervision.runId,
      execId,
      agentId,
      get status() {
        const { outcome } = world.of(execId);
        return outcome === undefined
          ? "running"
          : hireStatus(restoreOutcome(JSON.parse(outcome) as JsonObject));
      },
      cancel: (reason) => world.cancel(execId, reason),
    };
  }
}
