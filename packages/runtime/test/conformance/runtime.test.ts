import { describeRuntime, type RuntimeCaps } from "@ravi/testing/suites";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "../journal/helpers/directory.ts";
import { FakeLedger } from "../support/helpers.ts";
import { house } from "./house.ts";
import { SeatedHeadcount } from "./seated-headcount.ts";

const caps: RuntimeCaps = {
  headcount: (root) => new SeatedHeadcount(root),
  ledger: (root) => new FakeLedger(root.executionBudget),
};

describeRuntime("on a MemoryJournal", () => house((clock) => new MemoryJournal({ clock })), caps);

describeRuntime(
  "on a SqliteJournal",
  () => house((clock) => SqliteJournal.open(temporaryDirectory(), { clock })),
  caps,
);
