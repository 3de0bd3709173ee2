import type { RunId } from "@ravi/kernel";

/** Owners by file and run, for all journals of this process: who opens a file again has another object. */
const owners = new Map<string, string>();

/**
 * The claims on runs of one file with which somebody in this process was done, but which could not be given back: the disk said
 * no. Nobody works under them, so whoever opens the file again need not wait until they lapse.
 */
export class Unreturned {
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

  /** Somebody works on it again. */
  taken(runId: RunId): void {
    if (owners.size > 0) owners.delete(this.nameOf(runId));
  }

  private nameOf(runId: RunId): string {
    return `${this.path}\0${runId}`;
  }
}
