import { join } from "node:path";
import type { HistoryProvider } from "@ravi/kernel";

/** Conversations of runs without a journal, as long as the process lives. Only runs that name their session are kept. */
let inProcess: Promise<HistoryProvider> | undefined;

/** Where conversations go unless the user says: beside the journal, or into the memory of the process. */
export function defaultHistory(directory: string | undefined): HistoryProvider {
  return lazyHistory(() => {
    if (directory !== undefined) {
      return import("@ravi/context").then(({ FileHistory }) => FileHistory.open(join(directory, "sessions")));
    }
    return (inProcess ??= import("@ravi/context").then(({ MemoryHistory }) => new MemoryHistory()));
  });
}

/** Opened when a run first asks for it, which most never do: only those that belong to a session have a history. */
function lazyHistory(load: () => Promise<HistoryProvider>): HistoryProvider {
  let loading: Promise<HistoryProvider> | undefined;
  const history = (): Promise<HistoryProvider> => (loading ??= load());
  return {
    // A helper's history ends with its run, and nothing is ever written to it.
    load: async (key, upTo) =>
      key.execId === undefined ? (await history()).load(key, upTo) : { messages: [], head: 0 },
    append: async (key, messages) => (await history()).append(key, messages),
    clear: async (key) => (key.execId === undefined ? (await history()).clear(key) : undefined),
    close: async () => {
      // What could not be opened has failed the run, and needs no closing.
      const opened = await loading?.catch(() => undefined);
      await opened?.close?.();
    },
  };
}
