import type { HistoryProvider } from "@ravi/kernel";

/**
 * The conversations of runs without a journal. They live as long as the process, and only runs that name a `sessionId` or a
 * history are kept.
 */
let inProcess: Promise<HistoryProvider> | undefined;

/** The default place of conversations: in `sessions/` beside the journal, or in the memory of the process. */
export function defaultHistory(directory: string | undefined): HistoryProvider {
  return lazyHistory(() => {
    if (directory !== undefined) {
      return import("@ravi/context").then(({ FileHistory }) => FileHistory.open(`${directory}/sessions`));
    }
    return (inProcess ??= import("@ravi/context").then(({ MemoryHistory }) => new MemoryHistory()));
  });
}

/** Opens the history when a run first needs it. Most never do: only runs that belong to a session have a history. */
function lazyHistory(load: () => Promise<HistoryProvider>): HistoryProvider {
  let loading: Promise<HistoryProvider> | undefined;
  const history = (): Promise<HistoryProvider> =>
    (loading ??= load().catch((error: unknown) => {
      // Not kept: the next turn of a conversation tries again.
      loading = undefined;
      throw error;
    }));
  return {
    // The history of a hired helper ends with its run and is never written, so there is nothing to load.
    load: async (key, upTo) =>
      key.execId === undefined ? (await history()).load(key, upTo) : { messages: [], head: 0 },
    append: async (key, messages) => (await history()).append(key, messages),
    clear: async (key) => (key.execId === undefined ? (await history()).clear(key) : undefined),
    storeView: async (key, view) => (await history()).storeView?.(key, view),
    loadView: async (key) => (await history()).loadView?.(key),
    close: async () => {
      // If it cannot be opened, the run fails for that reason and there is nothing to close.
      const opened = await loading?.catch(() => undefined);
      await opened?.close?.();
    },
  };
}
