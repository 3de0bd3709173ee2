import { type EntryHead, isOutsidePath } from "../store/entry.ts";

/** The place of every entry of a session. Contents are not kept. */
export class SessionTree {
  private readonly byId = new Map<string, EntryHead>();
  private readonly labelOf = new Map<string, string>();
  private at: string | null = null;

  /** Adds an entry. Returns what is wrong with it, if anything: its parent must exist, and its id must be new. */
  add(head: EntryHead): string | undefined {
    if (this.byId.has(head.id)) return `two entries have the id ${head.id}`;
    if (head.parent !== null && !this.byId.has(head.parent))
      return `the parent ${head.parent} of entry ${head.id} does not exist`;
    this.byId.set(head.id, head);
    const { entry } = head;
    if (entry?.kind === "leaf") this.at = entry.target;
    else if (entry?.kind === "label") this.setLabel(entry.target, entry.label);
    else if (!isOutsidePath(head.kind)) this.at = head.id;
    return undefined;
  }

  /** Where the conversation stood last, according to the file. */
  get leaf(): string | null {
    return this.at;
  }

  get(id: string): EntryHead | undefined {
    return this.byId.get(id);
  }

  all(): IterableIterator<EntryHead> {
    return this.byId.values();
  }

  get labels(): ReadonlyMap<string, string> {
    return this.labelOf;
  }

  /** The entries from the root to the given one. */
  path(to: string | null): EntryHead[] {
    const path: EntryHead[] = [];
    for (let at = to; at !== null;) {
      const head = this.byId.get(at);
      if (head === undefined) break;
      path.push(head);
      at = head.parent;
    }
    return path.toReversed();
  }

  private setLabel(target: string, label: string | null): void {
    if (label === null) this.labelOf.delete(target);
    else this.labelOf.set(target, label);
  }
}
