import { type HistoryKey, JournalCorruptError } from "@ravi/kernel";

/** A resumed run has to see what it saw before. With fewer messages than recorded it would silently see another window. */
export function lostMessages(
  key: HistoryKey,
  { wanted, found, position }: { wanted: number; found: number; position: number },
): JournalCorruptError {
  const problem = `the history of ${key.agentName} has ${found} messages, but the run recorded ${wanted}; it was cleared, or it is another history`;
  return new JournalCorruptError({
    runId: key.sessionId,
    what: `the history of session ${key.sessionId}`,
    position,
    problem,
  });
}
