import { parseArgs } from "node:util";
import { type Peer, PEERS } from "./peers.ts";

export const HELP = `bench:peers: compares Ravi with a hand-written loop and other frameworks.

  pnpm bench:peers [--only NAME,…] [--scenarios S1,…] [--repeats N] [--quick] [--docs]

  --only ai,pi        only these frameworks (${PEERS.map(({ name }) => name).join(", ")}); default: all
  --scenarios S1,S2   only these scenarios; default: all (S1 to S8)
  --repeats N         rounds of processes, in alternating order (default: 5)
  --quick             one round with little warm-up: shows whether it works; the figures are not reliable
  --docs              write the table into docs/performance.md

Installs the frameworks into bench/peers, outside the workspace (about 500 MB and a few minutes, once). A framework that cannot
be installed is skipped, and the report says so. WARM_MS (4000) and MEASURE_MS (1000) set how long a process warms up and
measures: with less than 4 s, slow frameworks do not reach their full speed. Everything takes about an hour. Ctrl-C stops it and
keeps what was measured. Writes bench/results/peers.json with every sample, and peers.md.`;

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
  const known = PEERS.map(({ name }) => name);
  const names = list(values.only) ?? known;
  const stranger = names.find((name) => !known.includes(name));
  if (stranger !== undefined)
    return { problem: `unknown framework ${stranger}; expected one of ${known.join(", ")}` };
  const asked = list(values.scenarios) ?? scenarios;
  // S4 and S5 have two parts, each measured in its own processes.
  const chosen = scenarios.filter((name) => asked.includes(name) || asked.includes(name.slice(0, 2)));
  const unknown = asked.find((name) => !scenarios.some((each) => each.startsWith(name)));
  if (unknown !== undefined)
    return { problem: `unknown scenario ${unknown}; expected one of ${scenarios.join(", ")}` };
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
