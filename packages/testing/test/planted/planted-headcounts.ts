import { type AgentId, BudgetExhaustedError, type Lease, Priority } from "@ravi/kernel";
import { HonestHeadcount, type Member } from "./honest-headcount.ts";

export interface PlantedHeadcount {
  readonly says: string;
  /** Part of what the case says that must fail. */
  readonly caughtBy: string;
  readonly Broken: typeof HonestHeadcount;
}

const SEQUENCES = "any sequence of hires";
const VICTIMS = "neither the root nor anybody above the asker";

export const PLANTED_HEADCOUNTS: readonly PlantedHeadcount[] = [
  {
    says: "does not count the root",
    caughtBy: "the root holds a slot from the start",
    Broken: class extends HonestHeadcount {
      protected override get holding() {
        return super.holding.filter(({ parent }) => parent !== undefined);
      }
    },
  },
  {
    says: "admits one more than fits",
    caughtBy: SEQUENCES,
    Broken: class extends HonestHeadcount {
      protected override hasRoom() {
        return this.holding.length <= this.budget.maxAgents;
      }
    },
  },
  {
    says: "looks whether there is room, waits, and then takes it",
    caughtBy: "at one moment",
    Broken: class extends HonestHeadcount {
      private before = 1;
      protected override hasRoom() {
        queueMicrotask(() => (this.before = this.holding.length));
        return this.before < this.budget.maxAgents;
      }
    },
  },
  {
    says: "lets everybody take the slot of somebody lower",
    caughtBy: "when it is full, NORMAL and below are denied",
    Broken: class extends HonestHeadcount {
      protected override victim(asker: Member) {
        return super.victim(asker) ?? this.candidates(asker)[0];
      }
    },
  },
  {
    says: "lets an equal lose its slot",
    caughtBy: "only from somebody strictly lower",
    Broken: class extends HonestHeadcount {
      protected override victim(asker: Member) {
        const equal = this.holding.find((one) => one.parent && one.priority === asker.priority);
        return super.victim(asker) ?? (asker.priority > Priority.NORMAL ? equal : undefined);
      }
    },
  },
  {
    says: "preempts though it is not allowed",
    caughtBy: "without preemption everybody is denied",
    Broken: class extends HonestHeadcount {
      protected override victim(asker: Member) {
        return asker.priority > Priority.NORMAL ? this.candidates(asker).at(-1) : undefined;
      }
    },
  },
  {
    says: "takes the slot of the oldest among equals",
    caughtBy: "among equals the newest",
    Broken: class extends HonestHeadcount {
      protected override candidates(asker: Member) {
        return super.candidates(asker).toReversed();
      }
    },
  },
  {
    says: "takes the slot of the agent that hires",
    caughtBy: VICTIMS,
    Broken: class extends HonestHeadcount {
      protected override candidates(asker: Member) {
        return this.holding.filter((one) => one.priority < asker.priority && one.parent !== undefined);
      }
    },
  },
  {
    says: "takes the root's slot",
    caughtBy: VICTIMS,
    Broken: class extends HonestHeadcount {
      protected override candidates(asker: Member) {
        return this.holding.filter((one) => one.priority < asker.priority && one !== asker.parent);
      }
    },
  },
  {
    says: "takes the same slot from somebody who has lost it before",
    caughtBy: "who lost its slot cannot lose it again",
    Broken: class extends HonestHeadcount {
      protected override candidates(asker: Member) {
        const paused = this.pool.members.filter(({ state }) => state === "paused");
        return [...paused, ...super.candidates(asker)].filter((one) => one.priority < asker.priority);
      }
      protected override hasRoom() {
        const isPaused = this.pool.members.some(({ state }) => state === "paused");
        return isPaused || super.hasRoom();
      }
    },
  },
  {
    says: "counts a hire that it has denied",
    caughtBy: "a denied hire leaves nothing behind",
    Broken: class extends HonestHeadcount {
      protected override seat(member: Member, mayWait: boolean) {
        this.pool.total++;
        super.seat(member, mayWait);
        this.pool.total--;
      }
    },
  },
  {
    says: "gives the same agent a second slot",
    caughtBy: "the same id is not hired twice",
    Broken: class extends HonestHeadcount {
      protected override find(id: AgentId) {
        return this.pool.members.findLast((member) => member.id === id && member.state !== "holding");
      }
    },
  },
  {
    says: "does not count those that have ended",
    caughtBy: "maxTotal counts every hire",
    Broken: class extends HonestHeadcount {
      protected override end(member: Member) {
        if (member.state === "holding") this.pool.total--;
        super.end(member);
      }
    },
  },
  {
    says: "frees a slot each time its lease is released",
    caughtBy: "a release that is repeated",
    Broken: class extends HonestHeadcount {
      private free = 0;
      protected override hasRoom() {
        return this.holding.length < this.budget.maxAgents + this.free;
      }
      protected override end(member: Member) {
        if (member.state === "gone") this.free++;
        super.end(member);
      }
    },
  },
  {
    says: "releases by the id in a lease",
    caughtBy: "an old lease does not free the slot of a later agent",
    Broken: class extends HonestHeadcount {
      protected override leaseOf(member: Member): Lease {
        const release = (): void => void this.release(member.id);
        return { agentId: member.id, release, [Symbol.dispose]: release };
      }
    },
  },
  {
    says: "frees a slot when somebody is released who had lost it",
    caughtBy: "the release of somebody who lost its slot frees nothing",
    Broken: class extends HonestHeadcount {
      private free = 0;
      protected override hasRoom() {
        return this.holding.length < this.budget.maxAgents + this.free;
      }
      protected override end(member: Member) {
        if (member.state === "paused") this.free++;
        super.end(member);
      }
    },
  },
  {
    says: "brings somebody back who was released while it was paused",
    caughtBy: "and it does not come back",
    Broken: class extends HonestHeadcount {
      protected override end(member: Member) {
        if (member.state !== "paused") super.end(member);
      }
    },
  },
  {
    says: "leaves a freed slot empty",
    caughtBy: "a freed slot goes back to the best of the paused",
    Broken: class extends HonestHeadcount {
      protected override fill() {}
    },
  },
  {
    says: "gives a freed slot to whoever lost it last",
    caughtBy: "a freed slot goes back to the best of the paused",
    Broken: class extends HonestHeadcount {
      protected override get waiting() {
        return super.waiting.toSorted((a, b) => b.place - a.place);
      }
    },
  },
  {
    says: "tells one of those who wait for the same agent",
    caughtBy: "whenResumed waits for all who ask",
    Broken: class extends HonestHeadcount {
      protected override tell(member: Member) {
        member.tell.shift()?.();
      }
    },
  },
  {
    says: "resumes an agent when a wait for it is aborted",
    caughtBy: "whenResumed rejects when its signal aborts",
    Broken: class extends HonestHeadcount {
      override async whenResumed(id: AgentId, signal?: AbortSignal) {
        await super.whenResumed(id, signal).catch((error: unknown) => {
          const member = this.find(id);
          if (member !== undefined) member.state = "holding";
          throw error;
        });
      }
    },
  },
  {
    says: "keeps the slot of an agent that was demoted",
    caughtBy: "demoted below NORMAL while a better one waits",
    Broken: class extends HonestHeadcount {
      override reprioritize(id: AgentId, priority: Priority) {
        const member = this.find(id);
        if (member?.state === "holding") member.priority = priority;
        else super.reprioritize(id, priority);
      }
    },
  },
  {
    says: "does not let a promoted agent take a slot",
    caughtBy: "promoted, a paused agent takes a slot if it now may",
    Broken: class extends HonestHeadcount {
      override reprioritize(id: AgentId, priority: Priority) {
        const member = this.find(id);
        if (member !== undefined && member.state !== "holding") member.priority = priority;
        else super.reprioritize(id, priority);
      }
    },
  },
  {
    says: "queues those who wait by their age alone",
    caughtBy: "wait in one queue",
    Broken: class extends HonestHeadcount {
      protected override get waiting() {
        return super.waiting.toSorted((a, b) => a.place - b.place);
      }
    },
  },
  {
    says: "keeps the place of a hire that was aborted",
    caughtBy: "a queued hire that is aborted rejects",
    Broken: class extends HonestHeadcount {
      protected override told(member: Member, signal?: AbortSignal) {
        return super.told(member, signal);
      }
    },
  },
  {
    says: "takes the slot away when a signal aborts after the grant",
    caughtBy: "an abort after the grant changes nothing",
    Broken: class extends HonestHeadcount {
      protected override told(member: Member, signal?: AbortSignal, leave?: () => void) {
        signal?.addEventListener("abort", () => leave?.());
        return super.told(member, signal, leave);
      }
    },
  },
  {
    says: "queues a hire that everybody with a slot would wait for",
    caughtBy: "is refused at once if everybody with a slot would wait for it",
    Broken: class extends HonestHeadcount {
      protected override canGoOn() {
        return true;
      }
    },
  },
  {
    says: "gives the last slot to somebody who then waits for another",
    caughtBy: "the last slot goes to nobody",
    Broken: class extends HonestHeadcount {
      protected override fill() {
        const [next] = this.waiting;
        if (next === undefined || !this.hasRoom()) return;
        next.state = "holding";
        this.tell(next);
      }
    },
  },
  {
    says: "hands out its living state as a snapshot",
    caughtBy: "a snapshot is plain JSON",
    Broken: class extends HonestHeadcount {
      private readonly rows: { id: AgentId }[] = [];
      override snapshot() {
        this.rows.splice(0, Infinity, ...this.pool.members.map(({ id }) => ({ id })));
        return { rows: this.rows };
      }
      protected override end(member: Member) {
        super.end(member);
        this.snapshot();
      }
    },
  },
  {
    says: "writes down nobody who waits",
    caughtBy: "restored from its snapshot",
    Broken: class extends HonestHeadcount {
      override snapshot() {
        const { members } = this.pool;
        this.pool.members = this.holding;
        const snapshot = super.snapshot();
        this.pool.members = members;
        return snapshot;
      }
    },
  },
  {
    says: "has slots of its own in each process",
    caughtBy: "through several handles",
    Broken: class extends HonestHeadcount {
      constructor(...[setup, pool]: ConstructorParameters<typeof HonestHeadcount>) {
        super(setup, pool && { ...pool, members: [...pool.members] });
      }
    },
  },
  {
    says: "denies with another limit than it has",
    caughtBy: "of many that ask at one moment, only",
    Broken: class extends HonestHeadcount {
      protected override seat(member: Member, mayWait: boolean) {
        try {
          super.seat(member, mayWait);
        } catch {
          throw new BudgetExhaustedError({ dimension: "depth", used: 1, limit: 1, scope: "lead" });
        }
      }
    },
  },
];
