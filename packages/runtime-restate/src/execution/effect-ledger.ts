import {
  errorFromJSON,
  type MaybePromise,
  type Reservation,
  type Settlement,
  type Spend,
} from "@ravi/kernel";
import type { Admission, Settle } from "../root/messages.ts";
import { covers } from "../root/spend.ts";
import type { PaymentOptions } from "./payment.ts";

const NO_WARNINGS: Settlement = Object.freeze({ warnings: [], exceeded: [] });

/**
 * The money of one effect. Its first reservation came with the admission; further ones are requested. Settlements normally go with
 * the next message. If the admission said that a limit is near, they are sent at once, so that a warning comes in time.
 */
export class EffectLedger {
  private readonly options: PaymentOptions;
  private readonly nonce: string;
  private readonly wanted: Partial<Spend>;
  private readonly refused: Admission["refused"];
  private isNear: boolean;
  private first: string | undefined;
  private count = 0;
  private settles: Settle[] = [];

  constructor(
    options: PaymentOptions,
    nonce: string,
    wanted: Partial<Spend> | undefined,
    { reserved, refused, isNear }: Admission,
  ) {
    this.options = options;
    this.nonce = nonce;
    this.wanted = wanted ?? {};
    this.first = reserved;
    this.refused = refused;
    this.isNear = isNear === true;
  }

  async reserve(
    spend: Partial<Spend>,
    options?: { readonly wrapUp?: boolean | undefined; readonly what?: string | undefined },
  ): Promise<Reservation> {
    const wrapUp = options?.wrapUp === true;
    const isFirst = this.count++ === 0;
    const { first, refused } = this;
    if (isFirst && refused !== undefined && !wrapUp) throw errorFromJSON(refused);
    if (first !== undefined && covers(this.wanted, spend)) {
      this.first = undefined;
      return this.reservation(first);
    }
    this.releaseFirst();
    const { channel, from, effect, clock, attemptOver } = this.options;
    const { nonce } = this;
    const id = `${from.execId}:${effect.key}:${nonce}:${this.count}`;
    const asked = { id, key: effect.key, nonce, spend, wrapUp, what: options?.what };
    const message = { ...from, at: clock.now(), ...asked, settle: this.takeSettles() };
    const reserved = await channel.ask("reserve", message, attemptOver);
    this.isNear = reserved.isNear === true;
    this.options.warn(reserved.warnings);
    if (reserved.refused !== undefined) throw errorFromJSON(reserved.refused);
    return this.reservation(id);
  }

  /** The settlements that are still to be sent. */
  close(): readonly Settle[] {
    this.releaseFirst();
    return this.settles;
  }

  private takeSettles(): readonly Settle[] {
    const { settles } = this;
    this.settles = [];
    return settles;
  }

  private releaseFirst(): void {
    if (this.first !== undefined) this.settles.push({ id: this.first });
    this.first = undefined;
  }

  private reservation(id: string): Reservation {
    return {
      settle: ({ tokens, cost, turns, toolCalls, estimated }): MaybePromise<Settlement> => {
        const actual = { tokens, cost, turns, toolCalls, estimated };
        this.settles.push({
          id,
          actual: JSON.parse(JSON.stringify(actual)) as NonNullable<Settle["actual"]>,
        });
        return this.isNear ? this.settleNow() : NO_WARNINGS;
      },
      cancel: () => void this.settles.push({ id }),
    };
  }

  /** If the attempt is over, this rejects and nothing is settled: another attempt makes the call again. */
  private async settleNow(): Promise<Settlement> {
    const { channel, from, clock, attemptOver } = this.options;
    const message = { ...from, at: clock.now(), settle: this.takeSettles() };
    return { ...NO_WARNINGS, warnings: (await channel.ask("settle", message, attemptOver)).warnings };
  }
}
