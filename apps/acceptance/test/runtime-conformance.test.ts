import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryJournal, SqliteJournal } from "@ravi/runtime";
import { describeRuntime } from "@ravi/testing/suites";
import { caps, house } from "./support/house.ts";

// The suite that every runtime passes.

describeRuntime(
  "in process, in memory",
  () => house({ open: (clock) => new MemoryJournal({ clock }) }),
  caps,
);

describeRuntime(
  "in process, on SQLite",
  () => {
    const directory = mkdtempSync(join(tmpdir(), "ravi-conformance-"));
    const leave = (): void => rmSync(directory, { recursive: true, force: true });
    return house({ open: (clock) => SqliteJournal.open(directory, { clock }), leave });
  },
  caps,
);
