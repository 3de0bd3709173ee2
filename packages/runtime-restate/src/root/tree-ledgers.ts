import {
  type BudgetWarning,
  errorToJSON,
  InvalidValueError,
  type Ledger,
  type Remaining,
  type Reservation,
  type ReserveOptions,
  type SerializedError,
  type Spend,
  type Supervision,
} from "@ravi/kernel";
import { warningsIn } from "@ravi/kernel/loop";
import { addLost } from "./lost.ts";
import { addSpend, mostSpend, subtractSpend } from "./spend.ts";
import type { AbandonedCall, Settle } from "./messages.ts";
import { drop, type ExecState, type OpenReservation, type RootState } from "./state.ts";

/** Creates the ledger of a tree's root. */
export type LedgerFactory = (root: Supervision) => Ledger;

const UNLIMITED: Remaining = Object.freeze({ tokens: null, cost: null, turns: null, toolCalls: null });

/**
 * The money of a tree. The ledgers live only for one message: they are created, told what each living account has spent and
 * reserved, asked, and dropped. So any ledger that implements the port can be used, and the stored state does not depend on its
 * class.
 */
export class TreeLedgers {
  private readonly state: RootState;
  private readonly ledgers = new Map<string, Ledger>();
  private readonly held = new Map<string, Reservation>();
  /** Whether money was reserved in this session. */
  hasReserved = false;

  private constructor(state: RootState) {
    this.state = state;
  }

  /** Creates the ledgers of all living executions and restores what they have spent and reserved. */
  static async open(
    state: RootState,
    root: Supervision,
    make: LedgerFactory | undefined,
  ): Promise<TreeLedgers> {
    const opened = new TreeLedgers(state);
    if (make === undefined) return opened;
    for (const [execId, exec] of Object.entries(state.execs)) {
      if (exec.phase === "over" && exec.parent !== null) continue;
      const above = opened.ledgers.get(payerAbove(state, exec) ?? "");
      const ledger =
        exec.parent === null ? createLedger(make, root) : above?.child(exec.budget ?? {}, exec.agentId);
      if (ledger === undefined) continue;
      opened.ledgers.set(execId, ledger);
    }
    await opened.raiseAgain();
    for (const [execId, ledger] of opened.ledgers) await restore(ledger, state.execs[execId]);
    for (const [id, open] of Object.entries(state.open)) await opened.hold(id, open);
    return opened;
  }

  get isMetered(): boolean {
    return this.ledgers.size > 0;
  }

  remaining(execId: string): Remaining {
    return this.ledgers.get(execId)?.remaining() ?? UNLIMITED;
  }

  /** Why no account can be created under that one; undefined if it can. Otherwise a bad limit would fail every later message. */
  refusal(payer: string, budget: ExecState["budget"], scope: string): SerializedError | undefined {
    try {
      this.ledgers.get(payer)?.child(budget ?? {}, scope);
      return undefined;
    } catch (error) {
      return errorToJSON(error);
    }
  }

  /** Reserves money under that id. Returns the error if it is refused. */
  async reserve(
    id: string,
    open: OpenReservation,
    options: ReserveOptions,
  ): Promise<SerializedError | undefined> {
    const exec = this.state.execs[open.exec];
    const ledger = this.ledgers.get(open.exec);
    if (exec === undefined || ledger === undefined || this.state.open[id] !== undefined) return undefined;
    try {
      this.held.set(id, await ledger.reserve(open.spend, options));
    } catch (error) {
      return asFinal(errorToJSON(error));
    }
    this.state.open[id] = open;
    this.hasReserved = true;
    return undefined;
  }

  /**
   * Settles reservations and returns the warnings. A reservation that is not open any more was settled before, by the same message
   * or after a crash.
   */
  async settle(settles: readonly (Settle | AbandonedCall)[]): Promise<BudgetWarning[]> {
    const warnings: BudgetWarning[] = [];
    for (const settled of settles) {
      if ("left" in settled) {
        this.doubt(settled.left);
        continue;
      }
      const { id, actual } = settled;
      const open = this.state.open[id];
      const reservation = this.held.get(id);
      if (open === undefined) continue;
      drop(this.state.open, id);
      this.held.delete(id);
      if (actual === undefined) {
        await reservation?.cancel();
        continue;
      }
      const settlement = await reservation?.settle(actual);
      if (settlement !== undefined) warnings.push(...warningsIn(settlement));
      const spent = { ...open.spend, ...actual };
      this.charge(open.exec, spent);
      const exec = this.state.execs[open.exec];
      if (exec !== undefined) exec.largest = mostSpend(exec.largest, spent);
    }
    return warnings;
  }

  /**
   * Whether a threshold would be passed if every call under way used its whole reservation. Must be the last question to these
   * ledgers, because it settles the reservations to find out.
   */
  async isNear(): Promise<boolean> {
    for (const reservation of this.held.values()) {
      const { warnings } = await reservation.settle({ estimated: true });
      if (warnings.length > 0) return true;
    }
    return false;
  }

  /** Raises limits. It is noted with the asking execution and everyone above it, so that it stays when that execution is over. */
  async raise(execId: string, id: string, more: Partial<Spend>): Promise<void> {
    const { execs } = this.state;
    const asking = execs[execId];
    if (asking === undefined || asking.raised[id] !== undefined) return;
    for (let at: ExecState | undefined = asking; at !== undefined; at = execs[at.parent ?? ""])
      at.raised[id] = more;
    await this.ledgers.get(execId)?.raise?.(more);
  }

  /**
   * Repeats all raises. A ledger also raises everyone above it, so a raise that is noted on several levels is applied on the lowest
   * one only.
   */
  private async raiseAgain(): Promise<void> {
    const told = new Set<string>();
    for (const [execId, ledger] of [...this.ledgers].toReversed()) {
      for (const [id, more] of Object.entries(this.state.execs[execId]?.raised ?? {})) {
        if (!told.has(id)) await ledger.raise?.(more);
        told.add(id);
      }
    }
  }

  /** A call whose outcome will never be known: its reservation counts as spent, and a model call is in doubt. */
  async forfeit(id: string, { isMadeAgain = false } = {}): Promise<void> {
    const { open, execs } = this.state;
    const lost = open[id];
    if (lost === undefined) return;
    await this.settle([{ id, actual: { estimated: true } }]);
    const exec = execs[lost.exec];
    if (exec === undefined || lost.spend.turns === undefined) return;
    exec.lost = addLost(exec.lost, lost, isMadeAgain);
    this.doubt(lost.of);
  }

  /** Notes that a call, under its full key, may have been made. */
  doubt(call: string): void {
    const { inDoubt } = this.state;
    if (!inDoubt.includes(call)) inDoubt.push(call);
  }

  /** An execution is over: what it spent is charged to the one above it. */
  async close(execId: string): Promise<void> {
    const { open, execs } = this.state;
    for (const [id, { exec }] of Object.entries(open)) if (exec === execId) await this.forfeit(id);
    const exec = execs[execId];
    const payer = exec === undefined ? undefined : payerAbove(this.state, exec);
    if (exec === undefined || payer === undefined) return;
    this.charge(payer, exec.own);
    exec.paidBy = payer;
  }

  /** An execution that was over goes on: it counts for itself again. */
  reopen(exec: ExecState): void {
    const payer = this.state.execs[exec.paidBy ?? ""];
    if (payer !== undefined) payer.own = subtractSpend(payer.own, exec.own);
    exec.paidBy = undefined;
  }

  private charge(execId: string, spent: Partial<Spend>): void {
    const exec = this.state.execs[execId];
    if (exec !== undefined) exec.own = addSpend(exec.own, spent);
  }

  private async hold(id: string, { exec, spend }: OpenReservation): Promise<void> {
    const ledger = this.ledgers.get(exec);
    if (ledger === undefined) return;
    try {
      this.held.set(id, await ledger.reserve(spend, { wrapUp: true }));
    } catch {
      // It was granted once. If it does not fit any more, for example after an excess, it counts as spent.
      await ledger.charge(spend);
    }
  }
}

/** Each message is answered at once, so nobody waits for those under way: asking for that would only be another message. */
function asFinal(refusal: SerializedError): SerializedError {
  const { waitable, ...fields } = refusal.fields;
  return waitable === undefined ? refusal : { ...refusal, fields };
}

/** Throws if the factory returns no ledger: otherwise nothing would be limited. */
function createLedger(make: LedgerFactory, root: Supervision): Ledger {
  const ledger: Partial<Ledger> | undefined = make(root);
  if (typeof ledger?.reserve === "function") return ledger as Ledger;
  const expected = "a function that returns a Ledger, not a promise";
  throw new InvalidValueError({ field: "ledger", value: ledger, expected });
}

/** The execution that pays for it: the nearest one above that is not over (a parent may die before its children), or the root. */
function payerAbove({ execs }: RootState, exec: ExecState): string | undefined {
  let above = exec.parent;
  for (let at = above; at !== null; at = execs[at]?.parent ?? null) {
    above = at;
    if (execs[at]?.phase !== "over") return at;
  }
  return above ?? undefined;
}

async function restore(ledger: Ledger, exec: ExecState | undefined): Promise<void> {
  if (exec === undefined) return;
  // The whole sum is not one call. What is held back for the last turn depends on the largest single call.
  const { tokens, cost } = exec.largest;
  await ledger.charge(exec.own, { largest: tokens === 0 && cost === 0 ? null : { tokens, cost } });
}
