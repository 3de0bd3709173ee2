import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "@ravi/kernel";
import { type Answer, type LoopbackServer, loopbackOpenAI } from "@ravi/testing";
import type { KillPoint } from "../../src/reference/killing-journal.ts";
import { sh } from "../../src/shell.ts";

/** `src/reference/program.ts`, bundled by scripts/bundle-programs.ts. */
const program = join(import.meta.dirname, "../../dist/program.js");
const LONG = process.env["RAVI_LONG"] !== undefined;

interface Printed {
  readonly status: string;
  readonly output: string;
  readonly inDoubt: readonly string[];
  readonly usage: object;
  readonly error?: string;
  readonly entries: number;
}

/** What the model says follows from what it is sent, so a lost or doubled message would change the run. */
function answer({ messages }: ModelRequest): Answer {
  const user = String(messages.find(({ role }) => role === "user")?.content);
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
  if (String(messages[0]?.content).includes("publish")) {
    if (results.length > 0) return `said: ${results.join()}`;
    return { toolCalls: [{ name: "publish", arguments: { text: user } }] };
  }
  if (results.length > 0) return results.join(", ");
  return { toolCalls: [user, `${user}s`].map((word) => ({ name: "look_up", arguments: { word } })) };
}

/** One run of the program in a folder of its own, against a server that bills it alone. */
class Scene implements AsyncDisposable {
  private readonly folder: string;
  private readonly server: LoopbackServer;

  private constructor(folder: string, server: LoopbackServer) {
    this.folder = folder;
    this.server = server;
  }

  static async open(): Promise<Scene> {
    return new Scene(
      await mkdtemp(join(tmpdir(), "ravi-reference-")),
      await loopbackOpenAI({ script: answer }),
    );
  }

  /** What it printed; undefined when it was killed. */
  async start(...args: string[]): Promise<{ printed: Printed | undefined; stderr: string }> {
    const where = [
      "--url",
      this.server.url,
      "--journal",
      join(this.folder, "journal"),
      "--outbox",
      this.outbox,
    ];
    const { stdout, stderr } = await sh(process.execPath, ["--no-warnings", program, ...where, ...args]);
    return { printed: stdout === "" ? undefined : (JSON.parse(stdout) as Printed), stderr };
  }

  /** How often each call was charged, by its idempotency key. The server counts, not we. */
  billed(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { idempotencyKey = "" } of this.server.bill().entries) {
      counts.set(idempotencyKey, (counts.get(idempotencyKey) ?? 0) + 1);
    }
    return counts;
  }

  published(): number {
    return existsSync(this.outbox) ? readFileSync(this.outbox, "utf8").trim().split("\n").length : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  private get outbox(): string {
    return join(this.folder, "outbox");
  }
}

/** Goes on after a kill, deciding what has to be decided by what the outbox shows. */
async function finish(scene: Scene): Promise<Printed> {
  const first = await scene.start("--resume");
  if (first.printed === undefined) {
    // Killed before its first entry: nothing is on record, nothing was paid, and it starts from the beginning.
    expect(first.stderr).toContain("expected the id of a run in the journal");
    expect(scene.billed().size).toBe(0);
    return printedBy(await scene.start());
  }
  if (first.printed.status !== "suspended") return first.printed;
  const key = /decisions: \{ "([^"]+)"/.exec(first.printed.error ?? "")?.[1] ?? "";
  expect(key).toContain("hire:editor#1:tool:1:0");
  const decision = scene.published() === 0 ? "retry" : "skip";
  return printedBy(await scene.start("--resume", "--decisions", JSON.stringify({ [key]: decision })));
}

function printedBy({ printed, stderr }: { printed: Printed | undefined; stderr: string }): Printed {
  if (printed === undefined) throw new Error(`the run printed nothing: ${stderr}`);
  return printed;
}

async function checkPoint(point: KillPoint, whole: Printed): Promise<void> {
  await using scene = await Scene.open();
  expect({ point, ...(await scene.start("--kill", JSON.stringify(point))) }).toMatchObject({
    point,
    printed: undefined,
  });
  const finished = await finish(scene);
  expect({ point, status: finished.status }).toEqual({ point, status: "completed" });
  // A decision to skip is something that the editor is told, and says.
  if (!finished.output.includes("it was not called again"))
    expect({ point, output: finished.output }).toEqual({ point, output: whole.output });
  const bill = scene.billed();
  const twice = [...bill].filter(([, times]) => times > 1);
  expect({ point, calls: bill.size, most: Math.max(...bill.values()) <= 2 }).toEqual({
    point,
    calls: 8,
    most: true,
  });
  expect({ point, unreported: twice.filter(([key]) => !finished.inDoubt.includes(key)) }).toEqual({
    point,
    unreported: [],
  });
  expect({ point, published: scene.published() }).toEqual({ point, published: 1 });
}

describe("T5: the reference run, killed for good at every entry of its journal", { timeout: 600_000 }, () => {
  test("T5: it ends with the same output, and pays for nothing that is on record twice", async () => {
    await using scene = await Scene.open();
    const whole = printedBy(await scene.start());
    expect(whole).toMatchObject({ status: "completed", inDoubt: [] });
    expect(whole.output).toContain("ant has 3 letters, ants has 4 letters; bee has 3 letters");
    expect([...scene.billed().values()]).toEqual(Array.from({ length: 8 }, () => 1));
    expect(scene.published()).toBe(1);
    expect(whole.entries).toBeGreaterThanOrEqual(40);

    // Before the last one there is a run to be killed; on the short run each entry is killed at one of its two moments.
    const points: KillPoint[] = [];
    for (let entry = 1; entry <= whole.entries; entry++) {
      if (LONG || entry % 3 === 1) points.push({ entry, when: "before" });
      if (LONG || entry % 3 !== 1) points.push({ entry, when: "after" });
    }
    const lane = async (): Promise<void> => {
      for (let point = points.pop(); point !== undefined; point = points.pop())
        await checkPoint(point, whole);
    };
    await Promise.all([lane(), lane()]);
  });
});
