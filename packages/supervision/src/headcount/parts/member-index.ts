import type { AgentId } from "@ravi/kernel";
import type { Member } from "../member.ts";

/** This many names of finished agents may always stay, so that a small tree is not swept all the time. */
const SLACK = 64;

/**
 * Members by id. A `Map` keeps deleted entries in its chains until it is rehashed, so deleting and setting the same key repeatedly in a large
 * map walks past all of them. Here a removed id stays as an empty entry; when there are more empty entries than members, all of them are
 * removed at once.
 */
export class MemberIndex {
  /** Created with the first hire: most runs have none. */
  private members: Map<AgentId, Member | undefined> | undefined;
  private empty = 0;

  /** How many ids are kept, including those of finished agents. */
  get names(): number {
    return this.members?.size ?? 0;
  }

  get(id: AgentId): Member | undefined {
    return this.members?.get(id);
  }

  /** The id must not be in the index. */
  add(member: Member): void {
    const members = (this.members ??= new Map());
    const { size } = members;
    members.set(member.id, member);
    if (members.size === size) this.empty--;
  }

  /** The id must be in the index. */
  remove(id: AgentId): void {
    const { members } = this;
    if (members === undefined) return;
    members.set(id, undefined);
    if (++this.empty * 2 > members.size + SLACK) this.sweep(members);
  }

  /** In the order of hiring. */
  list(): Member[] {
    return [...(this.members?.values() ?? [])]
      .filter((member) => member !== undefined)
      .toSorted((a, b) => a.order - b.order);
  }

  private sweep(members: ReadonlyMap<AgentId, Member | undefined>): void {
    const kept = new Map<AgentId, Member | undefined>();
    for (const [id, member] of members) if (member !== undefined) kept.set(id, member);
    this.members = kept;
    this.empty = 0;
  }
}
