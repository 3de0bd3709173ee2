import { type JournalWatch, RunId } from "@ravi/kernel";
import { type Linked, LinkedList } from "@ravi/kernel/loop";

type Listener = () => void;

export interface WatchersOptions {
  /** Whether posts can come through this object only. */
  readonly coversAll: boolean;
  readonly onAdd?: ((runId: RunId) => void) | undefined;
  /** Called when the first watch waits for a post, and when the last one stops waiting. */
  readonly onAwaited?: ((isAwaited: boolean) => void) | undefined;
  /** Called when the last watch has stopped. */
  readonly onEmpty?: (() => void) | undefined;
}

/** Nobody outside of this process can post: there is nothing to stay alive for. */
function ignoreAwaits(): void {}

class Watch implements Linked<Watch> {
  before: Watch | undefined;
  after: Watch | undefined;
  isOver = false;
  isAwaited = false;
  readonly runId: RunId;
  readonly listener: Listener;

  constructor(runId: RunId, listener: Listener) {
    this.runId = runId;
    this.listener = listener;
  }
}

/** The listeners for posts to runs, in one journal object. */
export class Watchers {
  private readonly options: WatchersOptions;
  private readonly all = new LinkedList<Watch>();
  /** Created at the first post: most runs end before anything is posted, and hashing their ids costs time. */
  private index: Map<RunId, readonly Watch[]> | undefined;
  private awaited = 0;

  constructor(options: WatchersOptions) {
    this.options = options;
  }

  add(runId: RunId, listener: Listener): JournalWatch {
    const { coversAll, onAdd, onAwaited } = this.options;
    const watch = new Watch(RunId(runId), listener);
    this.all.add(watch);
    if (this.index !== undefined) addTo(this.index, watch);
    onAdd?.(watch.runId);
    const stop = (): void => this.stop(watch);
    if (onAwaited === undefined) return { coversAll, stop, awaits: ignoreAwaits };
    return { coversAll, stop, awaits: (isAwaited) => this.await(watch, isAwaited) };
  }

  get isAwaited(): boolean {
    return this.awaited > 0;
  }

  /**
   * Calls the listeners of a run. If one throws, the others are still called and the post succeeds; the error becomes an uncaught
   * exception.
   */
  tell(runId: RunId): void {
    this.index ??= indexOf(this.all.toArray());
    for (const watch of this.index.get(runId) ?? []) tellOne(watch);
  }

  tellAll(): void {
    for (const watch of this.all.toArray()) tellOne(watch);
  }

  private await(watch: Watch, isAwaited: boolean): void {
    if (watch.isOver || watch.isAwaited === isAwaited) return;
    watch.isAwaited = isAwaited;
    const before = this.isAwaited;
    this.awaited += isAwaited ? 1 : -1;
    if (this.isAwaited !== before) this.options.onAwaited?.(isAwaited);
  }

  /** Does nothing the second time. */
  private stop(watch: Watch): void {
    if (watch.isOver) return;
    this.await(watch, false);
    watch.isOver = true;
    this.all.delete(watch);
    const left = this.index?.get(watch.runId)?.filter((each) => each !== watch) ?? [];
    if (left.length > 0) this.index?.set(watch.runId, left);
    else this.index?.delete(watch.runId);
    if (this.all.isEmpty) this.options.onEmpty?.();
  }
}

function indexOf(watches: readonly Watch[]): Map<RunId, readonly Watch[]> {
  const index = new Map<RunId, readonly Watch[]>();
  for (const watch of watches) addTo(index, watch);
  return index;
}

/** Creates a new list, so that a loop over the old one is not disturbed. */
function addTo(index: Map<RunId, readonly Watch[]>, watch: Watch): void {
  index.set(watch.runId, [...(index.get(watch.runId) ?? []), watch]);
}

function tellOne({ listener, isOver }: Watch): void {
  // Another listener may have stopped it just now.
  if (isOver) return;
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
