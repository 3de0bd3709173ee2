import type { RunId } from "@ravi/kernel";

/** Owners by file and run, for all journals of this process: a file that is opened again has another journal object. */
const owners = new Map<string, string>();

/**
 * Claims on runs of one file that this process is done with but could not release, because the disk failed. Nobody works under
 * them, so a journal that opens the file again need not wait until they lapse.
 */
export class UnreleasedClaims {
  private readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  add(runId: RunId, owner: string): void {
    owners.set(this.nameOf(runId), owner);
  }

  has(runId: RunId, owner: string): boolean {
    return owners.size > 0 && owners.get(this.nameOf(runId)) === owner;
  }

  /** Somebody has claimed the run again. */
  delete(runId: RunId): void {
    if (owners.size > 0) owners.delete(this.nameOf(runId));
  }

  private nameOf(runId: RunId): string {
    return `${this.path}\0${runId}`;
  }
}
