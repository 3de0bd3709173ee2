import { parseArgs } from "node:util";
import { type Peer, PEERS } from "./peers.ts";

export const HELP = `bench:peers: Ravi beside a hand-written loop and other frameworks.

  pnpm bench:peers [--only NAME,…] [--scenarios S1,…] [--repeats N] [--quick] [--docs]

  --only ai,pi        which frameworks (${PEERS.map(({ name }) => name).join(", ")}); default: all
  --scenarios S1,S2   default: all of them (S1 to S8)
  --repeats N         rounds of processes, in alternating order (default 5)
  --quick             one round, little warm-up: whether it works, and no figures for the record
  --docs              puts the table into docs/performance.md

Installs the frameworks into bench/peers, outside the workspace (about 500 MB and a few minutes, once). One that cannot be
installed is left out and named. WARM_MS (4000) and MEASURE_MS (1000) set how long a process warms up and measures: with less
than 4 s the slow ones are not as fast as they get. All of it takes about an hour. Ctrl-C ends it and keeps what was measured.
Writes bench/results/peers.json with every sample, and peers.md.`;

export interface PeerOptions {
  readonly peers: readonly Peer[];
  readonly scenarios: readonly string[];
  readonly repeats: number;
  readonly warmMs: number;
  readonly measureMs: number;
  readonly docs: boolean;
}

/** Parses the command line. Returns the options, `help`, or what is wrong. */
export function readOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  scenarios: readonly string[],
): PeerOptions | "help" | { readonly problem: string } {
  let values;
  try {
    ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  if (values.help) return "help";
  const names = list(values.only) ?? PEERS.map(({ name }) => name);
  const stranger = names.find((name) => PEERS.every((peer) => peer.name !== name));
  if (stranger !== undefined) return { problem: `no framework ${stranger}` };
  const asked = list(values.scenarios) ?? scenarios;
  // S4 and S5 have two parts, each measured in its own processes.
  const chosen = scenarios.filter((name) => asked.includes(name) || asked.includes(name.slice(0, 2)));
  const unknown = asked.find((name) => !scenarios.some((each) => each.startsWith(name)));
  if (unknown !== undefined) return { problem: `no scenario ${unknown}; there are ${scenarios.join(", ")}` };
  const repeats = values.quick ? 1 : Number(values.repeats);
  if (!Number.isInteger(repeats) || repeats < 1)
    return { problem: `--repeats is ${values.repeats}; expected a whole number above 0` };
  return {
    peers: PEERS.filter(({ name }) => names.includes(name)),
    scenarios: chosen,
    repeats,
    warmMs: values.quick ? 300 : Number(env["WARM_MS"] ?? 4_000),
    measureMs: values.quick ? 200 : Number(env["MEASURE_MS"] ?? 1_000),
    docs: values.docs,
  };
}

const OPTIONS = {
  only: { type: "string" },
  scenarios: { type: "string" },
  repeats: { type: "string", default: "5" },
  quick: { type: "boolean", default: false },
  docs: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

function list(text: string | undefined): readonly string[] | undefined {
  return text
    ?.split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
