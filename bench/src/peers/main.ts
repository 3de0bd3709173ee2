import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { FIGURES, SCENARIOS, workerArgs } from "../figures.ts";
import { BENCH, childFigures, type Figures } from "../harness/child.ts";
import { coldStart, startOf } from "./cold.ts";
import { HELP, type PeerOptions, readOptions } from "./options.ts";
import { install } from "./install.ts";
import { folderOf, PEER_ENV, type Peer, PEERS } from "./peers.ts";
import { BASE, markdown, type Report, withTable } from "./report.ts";
import { measureRounds } from "./rounds.ts";

// Compares Ravi, a hand-written loop and other frameworks.

const COLD = [
  { scenario: "S6", field: "importMs", title: "S6 import of the entry, ms", isRatio: false },
  { scenario: "S6", field: "megabytes", title: "S6 installed, MB", isRatio: false },
  { scenario: "S6", field: "packages", title: "S6 installed, packages", isRatio: false },
] as const;
const ALL = [...SCENARIOS, "S6"].toSorted();
const OURS = [
  { name: BASE, title: "hand-written" },
  { name: "bare", title: "Ravi bare" },
  { name: "governed", title: "Ravi governed" },
];
/** Mastra takes half a minute for a thousand runs at once on a small machine; ten times that counts as a hang. */
const LONGEST_MS = 300_000;

async function measureAll(options: PeerOptions, signal: AbortSignal): Promise<Report> {
  const load = os.loadavg()[0] ?? 0;
  const { peers, versions, leftOut } = await installAll(options.peers, signal);
  const subjects = [...OURS, ...peers];
  const samples = await measureRounds({
    subjects: subjects.map(({ name }) => name),
    scenarios: options.scenarios,
    repeats: options.repeats,
    signal,
    measure: (subject, scenario) => measure(subject, scenario, options, signal),
    tell: ({ subject, scenario, error }, done, of) =>
      note(`${done}/${of} ${scenario} ${subject}${error === undefined ? "" : `: ${error.split("\n")[0]}`}`),
  });
  const { cpus, type, release } = os;
  return {
    when: new Date().toISOString(),
    machine: {
      node: process.version,
      cpu: cpus()[0]?.model ?? "unknown",
      cores: cpus().length,
      system: `${type()} ${release()}`,
    },
    command: ["pnpm bench:peers", ...process.argv.slice(2)].join(" "),
    warmMs: options.warmMs,
    measureMs: options.measureMs,
    repeats: options.repeats,
    load,
    subjects: subjects.map(({ name, title }) => ({ name, title })),
    versions,
    leftOut,
    samples,
  };
}

async function measure(
  subject: string,
  scenario: string,
  { warmMs, measureMs }: PeerOptions,
  signal: AbortSignal,
): Promise<Figures> {
  if (scenario === "S6") {
    const start = startOf(subject, PEERS);
    return start === undefined ? {} : coldStart(start, signal);
  }
  const env = { ...PEER_ENV, WARM_MS: String(warmMs), MEASURE_MS: String(measureMs) };
  const isPeer = PEERS.some(({ name }) => name === subject);
  const file = isPeer ? join(folderOf(subject), "adapter.mjs") : subject;
  return childFigures(workerArgs(file, scenario), { env, signal, timeoutMs: LONGEST_MS });
}

/** A peer that cannot be installed, or whose tool runs on arguments that break its schema, is left out and reported. */
async function installAll(
  wanted: readonly Peer[],
  signal: AbortSignal,
): Promise<Pick<Report, "versions" | "leftOut"> & { readonly peers: readonly Peer[] }> {
  const peers: Peer[] = [];
  const versions: Record<string, Readonly<Record<string, string>>> = {};
  const leftOut: Record<string, string> = {};
  for (const peer of wanted) {
    if (signal.aborted) break;
    note(`installing ${peer.name}`);
    try {
      versions[peer.name] = await install(peer.name, signal);
      const args = workerArgs(join(folderOf(peer.name), "adapter.mjs"), "check");
      const { toolRanOnInvalid } = await childFigures(args, { env: PEER_ENV, signal, timeoutMs: LONGEST_MS });
      if (toolRanOnInvalid !== 0) throw new Error("its tool ran on arguments that break the schema");
      peers.push(peer);
    } catch (error) {
      if (signal.aborted) break;
      leftOut[peer.name] = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
      note(`skipped ${peer.name}: ${leftOut[peer.name]}`);
    }
  }
  return { peers, versions, leftOut };
}

function note(text: string): void {
  console.error(`bench:peers: ${text}`);
}

function write(report: Report, { docs }: PeerOptions): void {
  const table = markdown(report, [...FIGURES, ...COLD]);
  const results = join(BENCH, "results");
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, "peers.json"), `${JSON.stringify(report, null, 1)}\n`);
  writeFileSync(join(results, "peers.md"), table);
  if (docs) {
    const page = join(BENCH, "../docs/performance.md");
    writeFileSync(page, withTable(readFileSync(page, "utf8"), table));
  }
  console.log(table);
  note(`wrote bench/results/peers.json and peers.md${docs ? ", and the table in docs/performance.md" : ""}`);
}

const read = readOptions(process.argv.slice(2), process.env, ALL);
if (read === "help") {
  console.log(HELP);
} else if ("problem" in read) {
  console.error(`bench:peers: ${read.problem}\n\n${HELP}`);
  process.exitCode = 1;
} else {
  const stopping = new AbortController();
  // Child processes end with the signal, a partial install is removed, and the measurements so far are kept.
  process.once("SIGINT", () => stopping.abort());
  process.once("SIGTERM", () => stopping.abort());
  const report = await measureAll(read, stopping.signal);
  if (report.samples.length > 0) write(report, { ...read, docs: read.docs && !stopping.signal.aborted });
  if (stopping.signal.aborted) {
    note(`stopped after ${report.samples.length} measurements`);
    process.exitCode = 130;
  }
}
