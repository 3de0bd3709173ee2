import { closeSync, existsSync, openSync } from "node:fs";
import { FileAuditLog } from "@ravi/middleware";
import { localProcesses } from "../src/audit-log/file/owner.ts";

// A process of its own for audit-log.test.ts: it has used up its files, all but none, one, two …, and wants to write where another
// writes. Says for each whether that one was taken for gone, and whether its claim still stands.
const [, , path = "", claim = ""] = process.argv;
const { me } = localProcesses();
const logs: FileAuditLog[] = [];
for (let n = 0; n < 6; n++) logs.push(await FileAuditLog.open(path));
const held: number[] = [];
try {
  for (;;) held.push(openSync("/dev/null", "r"));
} catch {
  // That was all of them.
}
for (const log of logs) {
  const isGone = localProcesses().isGone(me);
  const entry = { at: 1, actor: "a", action: "tool", target: "t", outcome: "ok", details: {} } as const;
  const end = await log.append(entry).then(
    () => "written",
    () => "refused",
  );
  process.stdout.write(`${isGone ? "gone" : "living"}, ${end}, ${existsSync(claim) ? "stands" : "fell"}\n`);
  closeSync(held.pop() ?? -1);
}
