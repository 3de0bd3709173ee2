import {
  isPromiseLike,
  isRaviError,
  type MaybePromise,
  type Reservation,
  type ReserveOptions,
} from "@ravi/kernel";
import { eventLoopTurn } from "../engine/waiting.ts";
import type { RunLog } from "../run/run-log.ts";
import { tryOrLog } from "../promises/try-or-log.ts";

/** How often in a row it changes lines without having waited in one before it gives up, as it must if one ledger spends from another. */
const MOST_IN_VAIN = 100;

/** Several ledgers that are asked for the same amount. */
export interface AskedTogether {
  readonly count: number;
  /** Reserves from the one at that place. */
  ask(place: number, options: ReserveOptions): MaybePromise<Reservation>;
  readonly options: ReserveOptions;
  readonly log: RunLog | undefined;
}

/**
 * Reserves from all of them or from none. It waits in the line of the one that refuses, and holds nothing in the others meanwhile:
 * otherwise two calls could wait for each other.
 */
export async function reserveInLine(asked: AskedTogether): Promise<readonly Reservation[]> {
  let line = 0;
  for (let inVain = 0; ;) {
    const round = new Round(asked, line);
    try {
      return await round.take();
    } catch (error) {
      const { at, hasWaited, holdsSome } = round;
      await round.giveBack();
      const mayFitLater = isRaviError(error, "BUDGET_EXHAUSTED") && error.waitable === true;
      // One that was asked to let it wait, and refuses all the same, has no line, or there is no hope.
      if (!mayFitLater || at === line) throw error;
      inVain = hasWaited ? 0 : inVain + 1;
      if (inVain === MOST_IN_VAIN) throw error;
      // Calls that held a part of what they need, and gave it back, may have refused each other. After a turn, all of them have given back.
      if (holdsSome && inVain !== 1) await eventLoopTurn();
      line = at;
    }
  }
}

/** All of the ledgers are asked once, beginning with the one in whose line it waits. */
class Round {
  /** Whether it has waited in that line until there was room. */
  hasWaited = false;
  /** The place of the ledger that was asked last. */
  at: number;
  private readonly asked: AskedTogether;
  private readonly line: number;
  private readonly held = new Map<number, Reservation>();
  /** The places of those that have given nothing yet, without that of the line. */
  private readonly rest: number[];
  /** That of the ledger that was asked last, if it does not answer at once. */
  private answer: PromiseLike<Reservation> | undefined;

  constructor(asked: AskedTogether, line: number) {
    this.asked = asked;
    this.line = line;
    this.at = line;
    this.rest = Array.from({ length: asked.count }, (_, place) => place).filter((place) => place !== line);
  }

  get holdsSome(): boolean {
    return this.held.size > 0;
  }

  /** What they give, in their order. */
  async take(): Promise<readonly Reservation[]> {
    const { asked, line, held } = this;
    const onTurn = (): void => {
      this.hasWaited = true;
      this.askOthers();
    };
    const one = asked.ask(line, { ...asked.options, onTurn });
    held.set(line, isPromiseLike(one) ? await one : one);
    this.askOthers();
    while (this.answer !== undefined) {
      this.keep(await this.answer);
      this.answer = undefined;
      this.askOthers();
    }
    return [...held].toSorted(([a], [b]) => a - b).map(([, reservation]) => reservation);
  }

  /**
   * Asks the others, up to one that does not answer at once. After a wait this happens in the tick in which the line has room. Any later,
   * two calls that hold one ledger each could go on refusing each other, and nothing else in the process would run.
   */
  private askOthers(): void {
    const now: ReserveOptions = { ...this.asked.options, onFull: "deny" };
    while (this.answer === undefined) {
      const [place] = this.rest;
      if (place === undefined) return;
      this.at = place;
      const answer = this.asked.ask(place, now);
      if (isPromiseLike(answer)) this.answer = answer;
      else this.keep(answer);
    }
  }

  private keep(reservation: Reservation): void {
    const place = this.rest.shift();
    if (place !== undefined) this.held.set(place, reservation);
  }

  async giveBack(): Promise<void> {
    const { asked, answer, held } = this;
    const message = "what was set aside for a refused call could not be given back";
    const cancel = (one: Reservation): MaybePromise<void> =>
      tryOrLog(asked.log, "error", message, () => one.cancel());
    for (const one of held.values()) await cancel(one);
    // If this is what was refused, there is nothing to give back.
    await answer?.then(cancel, () => {});
  }
}
