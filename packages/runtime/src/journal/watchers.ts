import { type JournalWatch, RunId } from "@ravi/kernel";

type Listener = () => void;

export interface WatchersOptions {
  /** Whether nobody else can post than through this object. */
  readonly coversAll: boolean;
  readonly onAdd?: ((runId: RunId) => void) | undefined;
  /** The last one has left. */
  readonly onEmpty?: (() => void) | undefined;
}

/** Who listens for posts to which run, in one journal object. */
export class Watchers {
  private readonly options: WatchersOptions;
  private readonly byRun = new Map<RunId, readonly Listener[]>();

  constructor(options: WatchersOptions) {
    this.options = options;
  }

  add(runId: RunId, listener: Listener): JournalWatch {
    const { coversAll, onAdd, onEmpty } = this.options;
    const id = RunId(runId);
    // Its own function, since the same listener may come twice.
    const own = (): void => listener();
    const others = this.byRun.get(id);
    this.byRun.set(id, others === undefined ? [own] : [...others, own]);
    onAdd?.(id);
    const stop = (): void => {
      const left = this.byRun.get(id)?.filter((each) => each !== own) ?? [];
      if (left.length > 0) this.byRun.set(id, left);
      else if (this.byRun.delete(id) && this.byRun.size === 0) onEmpty?.();
    };
    return { coversAll, stop };
  }

  /** One that throws keeps neither the others from being told nor the post from whoever made it: the platform hears of it. */
  tell(runId: RunId): void {
    for (const listener of this.byRun.get(runId) ?? []) {
      try {
        listener();
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  tellAll(): void {
    for (const runId of this.byRun.keys()) this.tell(runId);
  }
}
