import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

interface BenchOptions {
  /** Empty: all but those that must be named. */
  readonly sections: readonly string[];
  readonly pairs: number;
  readonly scenarios: readonly string[] | undefined;
  /** The folder of another checkout that this one is compared with, instead of everything else. */
  readonly against: string | undefined;
}

const OPTIONS = {
  pairs: { type: "string", default: "15" },
  scenarios: { type: "string" },
  against: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Parses the command line. Returns the options, `help`, or what is wrong. */
export function readOptions(
  args: readonly string[],
  known: readonly string[],
  scenarios: readonly string[],
): BenchOptions | "help" | { readonly problem: string } {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  const { values, positionals: sections } = parsed;
  if (values.help) return "help";
  const stranger = sections.find((name) => !known.includes(name));
  if (stranger !== undefined)
    return { problem: `unknown section ${stranger}; expected one of ${known.join(", ")}` };
  const pairs = Number(values.pairs);
  if (!Number.isInteger(pairs) || pairs < 1)
    return { problem: `--pairs is ${values.pairs}; expected a whole number above 0` };
  const asked = values.scenarios?.split(",").map((name) => name.trim());
  const unknown = asked?.find((name) => name === "" || !scenarios.some((each) => each.startsWith(name)));
  if (unknown !== undefined)
    return { problem: `unknown scenario ${unknown || "(empty)"}; expected one of ${scenarios.join(", ")}` };
  if (values.against === undefined) return { sections, pairs, scenarios: asked, against: undefined };
  const against = resolve(values.against);
  if (sections.length > 0)
    return {
      problem: `--against compares two checkouts, and measures no section; it was given ${sections.join(", ")}`,
    };
  if (!existsSync(join(against, "packages/runtime/dist/index.js")))
    return {
      problem: `--against is ${values.against}; expected a checkout of Ravi in which pnpm build was run`,
    };
  return { sections, pairs, scenarios: asked, against };
}
