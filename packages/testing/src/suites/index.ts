// Test suites that every implementation of a contract passes. A separate entry, because they import vitest and fast-check.

export { anyText } from "./any-text.ts";
export {
  assertJournalCase,
  describeJournal,
  journalCases,
  type JournalSetup,
  type JournalSuite,
} from "./describe-journal.ts";
export type { JournalCase, JournalStage } from "./journal/stage.ts";
export { assertModelCase, describeModel, modelCases, type ModelSuite } from "./describe-model.ts";
export type { ModelAbility, ModelCase, ModelSetup, ModelStage, ModelUnderTest } from "./model/stage.ts";
export {
  assertRuntimeCase,
  describeRuntime,
  runtimeCases,
  type RuntimeSuiteOptions,
} from "./describe-runtime.ts";
export type {
  RuntimeAbility,
  RuntimeCaps,
  RuntimeCase,
  RuntimeHouse,
  RuntimeSetup,
  RuntimeStage,
  RuntimeUnderTest,
  SuiteRunOptions,
} from "./runtime/stage.ts";
export {
  assertLedgerCase,
  describeLedger,
  ledgerCases,
  type LedgerSetup,
  type LedgerSuite,
} from "./describe-ledger.ts";
export type { LedgerCase, LedgerStage } from "./ledger/stage.ts";
export {
  assertHeadcountCase,
  describeHeadcount,
  headcountCases,
  type HeadcountSetup,
  type HeadcountSuite,
} from "./describe-headcount.ts";
export type { HeadcountCase, HeadcountStage } from "./headcount/stage.ts";
