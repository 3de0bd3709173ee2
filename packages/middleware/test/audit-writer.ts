import { FileAuditLog } from "@ravi/middleware";

// A process of its own for audit-log.test.ts: opens the log, says so, and appends when it is told to.
const [, , path = "", name = "", times = "1"] = process.argv;
const log = await FileAuditLog.open(path);
process.send?.("open");
process.once("message", () => {
  void appendAll().then((ends) => process.send?.(ends, () => process.exit(0)));
});

async function appendAll(): Promise<string[]> {
  const ends: string[] = [];
  for (let n = 1; n <= Number(times); n++) {
    const entry = { at: n, actor: name, action: "tool", target: "t", outcome: "ok", details: {} } as const;
    ends.push(
      await log.append(entry).then(
        () => "written",
        (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)),
      ),
    );
  }
  return ends;
}
