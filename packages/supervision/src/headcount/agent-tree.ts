import { AgentId, InvalidValueError, Priority, type SpawnBudget } from "@ravi/kernel";
import { checkAgentId } from "./parts/check-id.ts";
import { denyDepth, denyTotal } from "./parts/denials.ts";
import { MemberIndex } from "./parts/member-index.ts";
import { Member } from "./member.ts";
import type { AgentState } from "./state.ts";

/** The root, until it is named. */
const UNNAMED = AgentId("root");

/** The agents in the tree and who hired them. Nothing is kept of an agent that has ended. */
export class AgentTree {
  readonly root: Member;
  /** How many agents were hired in this run, including the root and finished ones. */
  total = 1;
  /** All members except the root. */
  private readonly members = new MemberIndex();
  private readonly budget: SpawnBudget;
  private isNamed: boolean;
  private hires = 0;

  constructor(rootId: AgentId | undefined, budget: SpawnBudget) {
    this.budget = budget;
    this.isNamed = rootId !== undefined;
    this.root = new Member({ id: rootId ?? UNNAMED, depth: 0, order: 0, priority: Priority.NORMAL });
  }

  /** Names the root, unless it has a name. Returns whether the root has this one. */
  nameRoot(id: AgentId): boolean {
    if (!this.isNamed && this.members.get(id) === undefined) {
      this.isNamed = true;
      this.root.id = id;
    }
    return id === this.root.id;
  }

  get(id: AgentId): Member | undefined {
    return id === this.root.id ? this.root : this.members.get(id);
  }

  /** All members except the root, in the order of hiring. */
  list(): Member[] {
    return this.members.list();
  }

  /**
   * The agent that hires: it holds a slot or is paused. Without an id it is the root. Throws if the agent is unknown
   * or queued. If the root has no name yet, the first one who hires is the root.
   */
  parentOf(parentId: AgentId | undefined, hired: AgentId): Member {
    if (parentId === undefined) return this.root;
    if (this.hires === 0 && parentId !== hired) this.nameRoot(checkAgentId("parentId", parentId));
    const parent = this.get(parentId);
    if (parent !== undefined && parent.state !== "queued") return parent;
    const why =
      parent === undefined
        ? `was released, or is not in this tree (the root, set by \`rootId\`, is ${this.root.id})`
        : "is still waiting for its first slot";
    const expected = `an agent that holds a slot, or undefined for the root; this one ${why}`;
    throw new InvalidValueError({ field: "parentId", value: parentId, expected });
  }

  /** A new member that is not in the tree yet. Throws if it would exceed `maxDepth` or `maxTotal`. */
  candidate(id: AgentId, priority: Priority, parent: Member): Member {
    const { maxDepth, maxTotal } = this.budget;
    const depth = parent.depth + 1;
    if (maxDepth !== null && depth > maxDepth) throw denyDepth(this.root.id, id, depth, maxDepth);
    if (maxTotal !== null && this.total >= maxTotal) throw denyTotal(this.root.id, this.total, maxTotal);
    return new Member({ id, depth, order: this.hires + 1, priority, parent });
  }

  add(member: Member): void {
    this.hires++;
    this.total++;
    this.members.add(member);
  }

  /** Restores the agents of a snapshot into a new tree. Each parent must come before its children. */
  load(agents: readonly AgentState[]): void {
    for (const { id, parentId, depth, priority } of agents) {
      const parent = this.get(parentId) ?? this.root;
      const member = new Member({ id, depth, order: this.hires + 1, priority, parent });
      member.claimed = false;
      this.add(member);
    }
  }

  /** Removes a member that has ended. Its living children become children of its parent. */
  remove(member: Member): void {
    const { parent, awaited } = member;
    this.members.remove(member.id);
    member.ended = true;
    // The parent now awaits directly what it awaited through this member. Its count stays above 0, so nobody's state changes.
    if (parent !== undefined && awaited > 0) parent.awaited += awaited - 1;
  }
}
