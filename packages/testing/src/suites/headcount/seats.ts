import { AgentId, type Headcount, Priority } from "@ravi/kernel";
import { attempt, must } from "../case.ts";
import { expectDenied, type HeadcountStage, hire, type Queued, queue, ROOT } from "./stage.ts";

interface Member {
  readonly id: AgentId;
  /** Kept for ever, also when the parent has ended. */
  readonly parent: Member | undefined;
  priority: Priority;
  state: "holding" | "paused" | "queued";
  readonly waits?: Queued;
  readonly abort?: AbortController;
  /** While it is paused: its `whenResumed`. */
  resumed?: Promise<unknown>;
}

/** Who holds a slot and who waits, as a runtime around the headcount would know it from the answers that it got. */
export class Seats {
  /** In the order of hiring, the root first. */
  private members: Member[] = [{ id: ROOT, parent: undefined, priority: Priority.NORMAL, state: "holding" }];
  private readonly headcount: Headcount;
  private readonly maxAgents: number;
  private readonly soon: HeadcountStage["soon"];

  constructor(headcount: Headcount, maxAgents: number, soon: HeadcountStage["soon"]) {
    this.headcount = headcount;
    this.maxAgents = maxAgents;
    this.soon = soon;
  }

  /** A hire that takes a slot now, or is denied. Each answer is compared with the one that the rules ask for. */
  async hire(id: AgentId, priority: Priority, pickParent: number): Promise<void> {
    const parent = pick(this.holding, pickParent);
    if (parent === undefined || this.find(id) !== undefined) return;
    const member: Member = { id, parent, priority, state: "holding" };
    const [isRoom, victim] = [this.holding.length < this.maxAgents, this.victim(member)];
    const asked = attempt(() => hire(this.headcount, id, priority, parent.id));
    if (!isRoom && victim === undefined) {
      await expectDenied(asked);
      return;
    }
    await asked;
    this.members.push(member);
    await this.expectPaused(isRoom ? undefined : victim);
  }

  /** A hire that may wait. */
  async queue(id: AgentId, priority: Priority, pickParent: number): Promise<void> {
    const parent = pick(this.holding, pickParent);
    if (parent === undefined || this.find(id) !== undefined) return;
    const [isRoom, abort] = [this.holding.length < this.maxAgents, new AbortController()];
    const victim = this.victim({ id, parent, priority, state: "queued" });
    const waits = queue(this.headcount, id, priority, { parentId: parent.id, signal: abort.signal });
    this.members.push({ id, parent, priority, state: "queued", waits, abort });
    if (isRoom || victim !== undefined) {
      await this.soon(`${id} is granted`, waits.lease);
      await this.expectPaused(isRoom ? undefined : victim);
    } else if (!this.canGoOn()) {
      this.members.pop();
      await expectDenied(this.soon(`${id} is refused`, waits.lease));
    }
  }

  async release(pickOne: number): Promise<void> {
    const member = pick(this.members.slice(1), pickOne);
    if (member !== undefined) await this.end(member, () => this.headcount.release(member.id));
  }

  async abort(pickOne: number): Promise<void> {
    const member = pick(this.waiting, pickOne);
    if (member?.abort !== undefined && member.state === "queued")
      await this.end(member, () => member.abort?.abort());
  }

  async reprioritize(pickOne: number, priority: Priority): Promise<void> {
    const member = pick(this.members, pickOne);
    if (member === undefined) return;
    await this.headcount.reprioritize(member.id, priority);
    member.priority = priority;
    await this.look();
  }

  /** Ends everybody, so that everyone who waits must get a slot first. Then all slots but the root's must be free. */
  async endAll(): Promise<void> {
    while (this.members.length > 1) {
      const { waiting } = this;
      const isDone = (one: Member): boolean => !waiting.some((waiter) => above(waiter).includes(one));
      const member = this.holding.findLast((one) => one.parent !== undefined && isDone(one));
      // If only the root could go on, it gives up somebody who waits.
      const next = member ?? this.members.at(-1);
      if (next !== undefined) await this.end(next, () => this.headcount.release(next.id));
    }
    for (let n = 1; n < this.maxAgents; n++) await hire(this.headcount, AgentId("free", n));
    await expectDenied(attempt(() => hire(this.headcount, AgentId("one too many"))));
  }

  /** Takes note of several that were granted at the same moment. */
  async note(ids: readonly AgentId[], priority: Priority): Promise<void> {
    for (const id of ids) this.members.push({ id, parent: this.members[0], priority, state: "holding" });
    await this.look();
  }

  /** Asks who is paused. While somebody waits, a slot that is free must be given away. */
  async look(): Promise<void> {
    for (;;) {
      for (const member of this.members) await this.refresh(member);
      const { waiting, holding } = this;
      must(
        holding.length <= this.maxAgents,
        `at most ${this.maxAgents} agents hold a slot, not ${holding.length}`,
      );
      must(this.members[0]?.state === "holding", "the root holds a slot");
      must(this.canGoOn(), "somebody with a slot awaits nobody who waits");
      if (waiting.length === 0 || holding.length === this.maxAgents) return;
      const grants = waiting.map(async ({ resumed, waits }) => resumed ?? waits?.lease);
      await this.soon("a free slot is given to somebody who waits", Promise.race(grants));
    }
  }

  private get holding(): Member[] {
    return this.members.filter(({ state }) => state === "holding");
  }

  private get waiting(): Member[] {
    return this.members.filter(({ state }) => state !== "holding");
  }

  private find(id: AgentId): Member | undefined {
    return this.members.find((member) => member.id === id);
  }

  private async refresh(member: Member): Promise<void> {
    const { id, waits } = member;
    if (member.state === "queued" && waits?.state() !== "granted") return;
    const isPaused = await this.headcount.isPaused(id);
    member.state = isPaused ? "paused" : "holding";
    if (!isPaused) {
      delete member.resumed;
    } else if (member.resumed === undefined) {
      member.resumed = this.headcount.whenResumed(id);
      member.resumed.catch(() => undefined);
    }
    const known = this.headcount.priorityOf?.(id) ?? member.priority;
    must(known === member.priority, `the priority of ${id} is ${member.priority}, not ${known}`);
  }

  private async end(member: Member, act: () => unknown): Promise<void> {
    const { id, state, waits } = member;
    this.members = this.members.filter((other) => other !== member);
    await act();
    if (state === "queued" && waits !== undefined) {
      const isGranted = await this.soon(`${id} is rejected`, waits.lease).then(
        () => true,
        () => waits.state() === "waits",
      );
      must(!isGranted, `${id}, which has left the queue, is rejected`);
    }
    await this.look();
  }

  /** Fails unless the hire has paused the victim and nobody else. */
  private async expectPaused(victim: Member | undefined): Promise<void> {
    const before = this.members.filter(({ state }) => state === "paused");
    await this.look();
    const added = this.members.filter((one) => one.state === "paused" && !before.includes(one));
    const [who, expected] = [added.map(({ id }) => id).join(), victim?.id ?? ""];
    must(who === expected, `"${expected}" loses its slot, not "${who}"`);
  }

  /** Who loses its slot to the asker: the newest of the lowest, if it is lower. */
  private victim(asker: Member): Member | undefined {
    if (asker.priority <= Priority.NORMAL) return undefined;
    return this.holding
      .filter(
        (one) => one.priority < asker.priority && one.parent !== undefined && !above(asker).includes(one),
      )
      .toReversed()
      .toSorted((a, b) => a.priority - b.priority)[0];
  }

  /** Nobody waits, or some holder awaits nobody who does. */
  private canGoOn(): boolean {
    const { waiting, holding } = this;
    const awaited = new Set(waiting.flatMap(above));
    return waiting.length === 0 || holding.some((one) => !awaited.has(one));
  }
}

/** Nearest first; the root is last. */
function above({ parent }: Member): Member[] {
  return parent === undefined ? [] : [parent, ...above(parent)];
}

function pick<T>(all: readonly T[], n: number): T | undefined {
  return all[n % Math.max(1, all.length)];
}
