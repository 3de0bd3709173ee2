import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import os, { hostname } from "node:os";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Agent, AgentId, errorFromJSON, errorToJSON, type Journal, RunId } from "@ravi/kernel";
import { processStart, type ProcessTable } from "@ravi/kernel/loop";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { isOwnerGone, lockedBy, processOwner } from "../../src/journal/parts/owner.ts";
import { processTable } from "../../src/journal/parts/process-table.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { type Running, start } from "./helpers/process.ts";

/** A table in which the process 7 began at 100. */
function table(more: Partial<ProcessTable> = {}): ProcessTable {
  return {
    name: "host:boot,pid",
    isKnown: true,
    kill(pid) {
      if (pid !== 7) throw Object.assign(new Error("no such process"), { code: "ESRCH" });
    },
    read: () => `7 (a (b) c) S${" 0".repeat(18)} 100 0`,
    ...more,
  };
}

describe("T5: whoever finds a run claimed is told who has it", () => {
  const told = (owner?: string | null) => {
    const claim = owner === undefined ? undefined : { owner, expires: 60_000 };
    const { message, pid, host } = lockedBy(RunId("r"), claim);
    return [/ by (.*?)(?: \(until.*)?; wait/.exec(message)?.[1], pid, host];
  };

  test("by its process and machine, if the claim names them, and not by what identifies the claim", () => {
    expect(told("process:web-3:boot,pid:4711:100:secret")).toEqual(["process 4711 on web-3", 4711, "web-3"]);
    expect(told("process::unknown:4711:0:secret")).toEqual(["process 4711", 4711, ""]);
    const here = processOwner("secret");
    expect(told(here)).toEqual([`another call in this process (${process.pid})`, process.pid, hostname()]);
    expect(told("gateway-7")).toEqual(["gateway-7", undefined, undefined]);
    for (const unknown of ["elsewhere:secret", null, undefined])
      expect(told(unknown)[0]).toBe("another process, or another call in this one");
  });

  test.each([
    ["in memory", (): Journal => new MemoryJournal()],
    ["in a file", (): Journal => SqliteJournal.open(temporaryDirectory())],
  ])("%s, when it begins and when it writes", async (_, open) => {
    const journal = open();
    const lead: Agent = {
      id: AgentId("lead"),
      run: async (ctx) => ({
        status: "completed",
        output: String(await ctx.waitFor("go")),
        stopReason: "done",
      }),
    };
    const first = new Runtime({ journal, agents: [lead] });
    const held = first.run(lead, "", { runId: "r" });
    while (held.status !== "suspended") await new Promise(setImmediate);
    const error = await new Runtime({ journal, agents: [lead] }).resume("r").result.catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "JOURNAL_LOCKED", runId: "r", pid: process.pid, host: hostname() });
    expect(errorFromJSON(errorToJSON(error))).toMatchObject({ pid: process.pid, host: hostname() });
    const late = async (): Promise<unknown> => journal.append(RunId("r"), 99, []);
    await expect(late()).rejects.toMatchObject({ pid: process.pid, host: hostname() });
    await first.deliver("r", "go", "done");
    await held.result;
    await journal.close();
  });
});

test("T5: a run of another process is refused with that process's id", { timeout: 60_000 }, async () => {
  const directory = temporaryDirectory();
  const other = start("claimer.ts", [directory, "r", "there"]);
  expect(await asks(other)).toBe("claimed");
  const journal = SqliteJournal.open(directory);
  const refused = await new Runtime({ journal }).resume("r").result.catch((error: unknown) => error);
  await journal.close();
  const { pid } = other.child;
  expect(refused).toMatchObject({ code: "JOURNAL_LOCKED", pid, owner: `process ${pid} on ${hostname()}` });
  other.hush();
  await other.ended;
});

describe("T5: an owner counts as gone only where that is certain", () => {
  test.each([
    ["lives", "process:host:boot,pid:7:100:id", false],
    ["is no more", "process:host:boot,pid:8:100:id", true],
    ["is no more, and its number is another's", "process:host:boot,pid:7:99:id", true],
    ["could not say when it began, and its number is somebody's", "process:host:boot,pid:7:0:id", false],
    ["could not say when it began, and its number is nobody's", "process:host:boot,pid:8:0:id", true],
    ["is of another table of the same machine", "process:host:boot,other:8:100:id", false],
    ["is of another start of the machine", "process:host:later,pid:8:100:id", false],
    ["is of another machine", "process:elsewhere:boot,pid:8:100:id", false],
    ["has only a part of a name", "process:host:boot,pid:8::id", false],
    ["is no process", "a name of the user's", false],
  ])("one that %s", (_, owner, isGone) => {
    expect(isOwnerGone(owner, table())).toBe(isGone);
  });

  test("one whose start nobody here may read lives as long as its number is somebody's", () => {
    expect(isOwnerGone("process:host:boot,pid:7:99:id", table({ read: () => "" }))).toBe(false);
  });

  test("this very process lives, and its name tells the machine and the number", () => {
    const owner = processOwner("a:b");
    expect(owner.startsWith(`process:${encodeURIComponent(hostname())}:`)).toBe(true);
    expect(owner.endsWith(":a:b")).toBe(true);
    expect(owner).toContain(`:${process.pid}:`);
    expect(isOwnerGone(owner)).toBe(false);
  });

  test.runIf(process.platform === "linux")("an earlier process of this one's number is gone", () => {
    const earlier = processOwner("id").replace(/:(\d+):id$/, ":1:id");
    expect(earlier).not.toBe(processOwner("id"));
    expect(isOwnerGone(earlier)).toBe(true);
  });

  test("nobody is known to be gone where the name of the machine may not be read", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(os, "hostname").mockImplementation(() => {
      throw new Error("Requires sys access to hostname");
    });
    vi.resetModules();
    // What is loaded now must not stay: the files of one worker share their modules.
    onTestFinished(() => void vi.resetModules());
    const { isOwnerGone: isGone, processOwner: ownerOf } = await import("../../src/journal/parts/owner.ts");
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const owner = ownerOf("id");
    expect(owner).toBe(`process::unknown:${process.pid}:0:id`);
    expect(isGone(owner.replace(`:${process.pid}:`, `:${pid}:`))).toBe(false);
  });

  test("one that has ended is gone also where errors are of another realm, as in jest", () => {
    const elsewhere: unknown = runInNewContext('Object.assign(new Error("kill ESRCH"), { code: "ESRCH" })');
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw elsewhere;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    expect(isOwnerGone(processOwner("id"))).toBe(true);
  });

  test("a process of this table that has ended is gone", () => {
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const owner = processOwner("id").replace(`:${process.pid}:`, `:${pid}:`);
    expect(isOwnerGone(owner)).toBe(true);
  });

  test.runIf(process.platform === "linux")(
    "one that has ended and that nobody has buried is gone",
    async () => {
      // The shell becomes a program that knows of no child, and answers when it has.
      const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec cat"]);
      onTestFinished(() => void parent.kill());
      const [said] = await once(parent.stdout, "data");
      const pid = Number(said);
      parent.stdin.write("?");
      await once(parent.stdout, "data");
      const owner = processOwner("id").replace(
        /:\d+:\d*:id$/,
        `:${pid}:${processStart(pid, processTable())}:id`,
      );
      expect(isOwnerGone(owner)).toBe(false);

      // As long as it is still the shell, it may bury its child.
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "latin1")).toBe("cat\n");
      process.kill(pid, "SIGKILL");
      await expect.poll(() => readFileSync(`/proc/${pid}/stat`, "latin1")).toContain(") Z ");
      expect(isOwnerGone(owner)).toBe(true);
    },
  );
});

/** Ways to a process table of its own: with the files that show it, and with those of the table around it. */
const WAYS = [
  ["--mount-proc", "its own /proc"],
  ["--kill-child", "the /proc of the table around it"],
] as const;

function unshare(option: string): readonly string[] {
  return ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", option];
}

const mayUnshare = spawnSync("unshare", [...unshare("--mount-proc").slice(1), "true"]).status === 0;

async function asks(process: Running): Promise<string | undefined> {
  const count = process.lines.length + 1;
  process.say("claim");
  await process.heard(count);
  return process.lines[count - 1];
}

// Only Linux has such tables, and not every machine lets its users make them.
describe.runIf(mayUnshare)("T5: two processes whose tables do not know each other", () => {
  test.each(WAYS)(
    "neither takes the claim of the other while it lives (%s: %s)",
    { timeout: 60_000 },
    async (option) => {
      const directory = temporaryDirectory();
      const here = start("claimer.ts", [directory, "outer", "here"]);
      expect(await asks(here)).toBe("claimed");
      const there = start("claimer.ts", [directory, "outer", "there"], unshare(option));
      expect(await asks(there)).toBe("refused");
      const inner = start("claimer.ts", [directory, "inner", "inner"], unshare(option));
      expect(await asks(inner)).toBe("claimed");
      const other = start("claimer.ts", [directory, "inner", "other"], unshare(option));
      expect(await asks(other)).toBe("refused");
      const outside = start("claimer.ts", [directory, "inner", "outside"]);
      expect(await asks(outside)).toBe("refused");

      here.kill();
      await here.ended;
      // Nobody in there can know; the claim has to lapse for them.
      expect(await asks(there)).toBe("refused");
      const again = start("claimer.ts", [directory, "outer", "again"]);
      expect(await asks(again)).toBe("claimed");
      for (const each of [there, inner, other, outside, again]) {
        each.hush();
        expect(await each.ended).toEqual({ code: 0, signal: null, stderr: "" });
      }
    },
  );
});
