import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { readBill } from "../src/index.ts";
import { chat, post, temporaryFile } from "./helpers.ts";

/** Only against a hang. */
const TIMEOUT = 600_000;
const KILLS = process.env["RAVI_LONG"] ? 100 : 3;

const billServer = new URL("./children/bill-server.ts", import.meta.url);
const exitsAlone = new URL("./children/exits-alone.ts", import.meta.url);

function start(program: URL, billFile: string): ChildProcess {
  const args = ["--conditions=@ravi/source", fileURLToPath(program), billFile];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the child has no output");
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error("the child said nothing");
}

describe("T5: kill -9 of a server in the middle of requests", () => {
  test(
    "leaves a bill that has every answer that anybody saw, and the next server goes on with it",
    { timeout: TIMEOUT },
    async () => {
      const billFile = temporaryFile("bill.jsonl");
      let seen = 0;
      let asked = 0;
      for (let kill = 0; kill < KILLS; kill++) {
        const child = start(billServer, billFile);
        const url = await firstLine(child);
        let answers = 0;
        const ended = once(child, "exit");
        const client = async (): Promise<void> => {
          for (;;) {
            asked++;
            const response = await post(url, chat("Hello", { stream: asked % 2 === 0 }));
            answers++;
            // The moment differs from round to round: after 10, 17, 24, ... answers have begun.
            if (answers === 10 + 7 * kill) child.kill("SIGKILL");
            await response.text();
          }
        };
        const outcomes = await Promise.allSettled(Array.from({ length: 8 }, client));
        expect(outcomes.map((outcome) => outcome.status)).toEqual(Array(8).fill("rejected"));
        expect(await ended).toEqual([null, "SIGKILL"]);
        seen += answers;

        const { calls, entries } = readBill(billFile);
        expect(calls).toBeGreaterThanOrEqual(seen);
        expect(calls).toBeLessThanOrEqual(asked);
        expect(entries.map((entry) => entry.n)).toEqual(entries.map((_, index) => index + 1));
      }
      expect(seen).toBeGreaterThanOrEqual(10 * KILLS);
    },
  );
});

describe("T4: a process that has closed everything", () => {
  test("ends by itself", { timeout: TIMEOUT }, async () => {
    const billFile = temporaryFile("bill.jsonl");
    const child = start(exitsAlone, billFile);
    const ended = once(child, "exit");
    expect(await firstLine(child)).toBe("rejected rejected");
    expect(await ended).toEqual([0, null]);
    expect(readFileSync(billFile, "utf8").trim().split("\n")).toHaveLength(4);
  });
});
