import { hasEnded, type ProcessReads, processStart } from "@ravi/kernel/loop";
import { expect, test } from "vitest";

/** Process 7 began at 100. */
function machine(more: Partial<ProcessReads> & { state?: string; threads?: number } = {}): ProcessReads {
  const { state = "S", threads = 1, ...reads } = more;
  return {
    kill(pid) {
      if (pid !== 7) throw Object.assign(new Error("no such process"), { code: "ESRCH" });
    },
    read: (path) =>
      path === "/proc/7/stat" ? `7 (a (b) c) ${state}${" 0".repeat(16)} ${threads} 0 100 0` : "",
    ...reads,
  };
}
const unreadable = (): never => {
  throw new Error("too many open files");
};
const forbidden = (): never => {
  throw Object.assign(new Error("not yours"), { code: "EPERM" });
};

test("the start of a process is read behind its name, which may have any letters; 0 if it cannot be read", () => {
  expect(processStart(7, machine())).toBe("100");
  expect(processStart(8, machine())).toBe("0");
  expect(processStart(7, machine({ read: unreadable }))).toBe("0");
});

test.each<[string, number, string, ProcessReads, boolean]>([
  ["lives", 7, "100", machine(), false],
  ["has no process", 8, "100", machine(), true],
  ["is another's now", 7, "99", machine(), true],
  ["is somebody's, and nobody knows since when", 7, "0", machine(), false],
  ["is somebody's, and now nothing can be read", 7, "99", machine({ read: unreadable }), false],
  ["is another user's", 7, "100", machine({ kill: forbidden }), false],
  ["is that of a zombie", 7, "100", machine({ state: "Z" }), true],
  ["is that of a zombie with a thread that still runs", 7, "100", machine({ state: "Z", threads: 2 }), false],
])("a process whose id %s", (_, pid, start, reads, ended) => {
  expect(hasEnded(pid, start, reads)).toBe(ended);
});
