import type { DatabaseSync } from "node:sqlite";
import type { Appender } from "./appender.ts";
import { isBusy } from "./errors.ts";
import type { GroupStore } from "./group-commit.ts";

/** Carries out the transactions of a `GroupCommit`. What the appender has staged is written at the end of each. */
export function groupStore(db: DatabaseSync, appender: Appender): GroupStore {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  return {
    path: db.location() ?? "",
    begin: () => {
      begin.run();
      appender.begin();
    },
    finish: () => appender.write(),
    commit: () => void commit.run(),
    rollback: () => {
      // SQLite rolls back by itself if the disk is full, and a second rollback would be an error.
      if (db.isTransaction) db.exec("ROLLBACK");
    },
    isBusy,
  };
}
