import {
  type DurableEngine,
  type Effect,
  errorFromJSON,
  type ExecId,
  type Heard,
  type HireOutcome,
  type HireSpec,
  type InboxMessage,
  type JsonObject,
  type JsonValue,
  type MaybePromise,
  type Operation,
  type RunHandle,
  type SerializedError,
  type Settled,
  type WaitSpec,
} from "@ravi/kernel";
import { readOutcome } from "@ravi/kernel/loop";
import { outcomeToJSON, restoreOutcome } from "../../src/engine/hire-record.ts";

import { PositionalWork } from "./positional-work.ts";

/**
 * An engine that records by position, as Restate does. It knows nothing ahead: the n-th operation of a replay is the n-th on
 * record, and another one in its place is refused loudly. Two operations at once, which would swap their results, are refused
 * as well. All values go through JSON, also the first time.
 */
export class PositionalEngine extends PositionalWork implements DurableEngine {
  readonly bare = undefined;
  readonly isDurable = true;
  readonly isWatched = true;

  async whenResumed(): Promise<void> {
    const { headcount } = this.world;
    await this.lane("resumed", () =>
      this.entry("resumed", "", "", async () => {
        await headcount?.whenResumed(this.start.supervision.agentId);
        return {};
      }),
    );
  }

  effect<T>(effect: Effect<T>): Promise<T> {
    return this.lane(effect.key, async () => {
      const settled = await this.pay(effect);
      if (settled.ok) return settled.value as T;
      throw settled.error;
    });
  }

  /** The seats one after the other; then every part is issued in order, and only the joining of them is concurrent. */
  all(operations: readonly Operation[]): Promise<readonly Settled[]> {
    return this.lane(`all of ${operations.length}`, async () => {
      const seats = new Map<string, JsonObject>();
      for (const operation of operations)
        if (operation.kind === "hire") seats.set(operation.key, await this.seat(operation));
      return Promise.all(
        operations.map(async (operation): Promise<Settled> => {
          try {
            if (operation.kind === "wait") return { ok: true, value: await this.signal(operation) };
            if (operation.kind !== "hire") return await this.pay(operation);
            return { ok: true, value: await this.outcome(operation, seats.get(operation.key) ?? {}) };
          } catch (error) {
            return { ok: false, error };
          }
        }),
      );
    });
  }

  fact(key: string, make: () => MaybePromise<JsonValue>): Promise<JsonValue> {
    return this.lane(key, async () => {
      const body = await this.entry("fact", key, "", async () => ({ value: await make() }));
      return body["value"] ?? null;
    });
  }

  async sleep(key: string, until: number): Promise<void> {
    await this.lane(key, () =>
      this.entry("sleep", key, "", async () => {
        await this.orCancelled(this.timer(until));
        return {};
      }),
    );
  }

  wait(spec: WaitSpec): Promise<JsonValue> {
    return this.lane(spec.key, () => this.signal(spec));
  }

  hire(spec: HireSpec): Promise<HireOutcome> {
    return this.lane(spec.key, async () => this.outcome(spec, await this.seat(spec)));
  }

  spawn(spec: HireSpec): Promise<RunHandle> {
    return this.lane(spec.key, async () => {
      const seat = await this.seat(spec);
      if (seat["denied"] !== undefined) throw errorFromJSON(seat["denied"] as SerializedError);
      return this.handle(spec);
    });
  }

  join(child: ExecId): Promise<HireOutcome> {
    return this.lane(`join ${child}`, async () => {
      const body = await this.entry("join", child, "", async () =>
        outcomeToJSON(await this.orCancelled(this.world.whenOver(child))),
      );
      return readOutcome(restoreOutcome(body), this.outputs.get(child));
    });
  }

  ask(
    key: string,
    child: ExecId,
    message: JsonValue,
    { timeoutMs, attachments }: Parameters<DurableEngine["ask"]>[3],
  ): Promise<Heard> {
    const { world, start } = this;
    return this.lane(key, async () => {
      const sent = await this.entry("ask", key, "", async () => ({ at: world.clock.now() }));
      const id = `${start.execId}:${key}`;
      const body = await this.entry("heard", key, "", async () => {
        const at = Number(sent["at"]);
        const question = { id, from: start.supervision.agentId, content: message, at };
        world.post(child, attachments === undefined ? question : { ...question, attachments });
        const reply = world.until(() => {
          const value = world.replies.get(id);
          return value === undefined ? undefined : { reply: value };
        });
        const silent = world.whenOver(child).then((): JsonObject => ({ silent: true, ended: true }));
        const late =
          timeoutMs === undefined ? [] : [this.timer(at + timeoutMs).then(() => ({ silent: true }))];
        return this.orCancelled<JsonObject>(Promise.race([reply, silent, ...late]));
      });
      return body as Heard;
    });
  }

  receive(key: string, { wait }: { readonly wait: boolean }): Promise<InboxMessage | null> {
    return this.lane(key, async () => {
      const { mail } = this.own;
      const body = await this.entry("receive", key, wait ? "wait" : "", async () => {
        const next = (): JsonValue | undefined => mail[0] ?? (wait ? undefined : null);
        return { message: await this.orCancelled(this.world.until(next)) };
      });
      const message = (body["message"] ?? null) as InboxMessage | null;
      // Gone when it is on record, and not before.
      if (mail[0] !== undefined && mail[0].id === message?.id) mail.shift();
      return message;
    });
  }

  async reply(key: string, messageId: string, value: JsonValue): Promise<void> {
    await this.lane(key, () =>
      this.entry("reply", key, "", async () => {
        this.world.replies.set(messageId, value);
        this.world.notify();
        return {};
      }),
    );
  }

  async end(): Promise<void> {
    const { world, own } = this;
    await this.lastInLane("end", () =>
      this.entry("end", "", "", async () => {
        for (const child of own.children) {
          if (world.of(child).outcome === undefined) world.cancel(child, "its parent has ended");
          await world.whenOver(child);
        }
        return {};
      }),
    );
  }
}
