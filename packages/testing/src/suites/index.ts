// Suites that every implementation of a contract passes. They import vitest and fast-check, so they are an entry apart.

export {
  assertJournalCase,
  describeJournal,
  journalCases,
  type JournalSetup,
  type JournalSuite,
} from "./describe-journal.ts";
export type { JournalCase, JournalStage } from "./journal/stage.ts";
