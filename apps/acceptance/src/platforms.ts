import { parse } from "yaml";

/** The platforms on which the workspace promises to install: those of its pinned Node. */
const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"] as const;

interface Lockfile {
  readonly packages: Readonly<Record<string, Built>>;
  readonly snapshots: Readonly<
    Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
  >;
}

/** The platforms for which a package was built; empty if it contains no binary. */
interface Built {
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/**
 * Finds packages in a lockfile's text that ship one binary per platform and lack one of ours. A registry may have a release
 * before all of its binaries; a lockfile made at that time installs on the machine where it was made, and fails elsewhere.
 */
export function missingBinaries(text: string): string[] {
  const { packages, snapshots } = parse(text) as Lockfile;
  return Object.entries(snapshots).flatMap(([name, { optionalDependencies = {} }]) => {
    const covered = Object.entries(optionalDependencies).flatMap(([binary, version]) =>
      platformsOf(packages[`${binary}@${version}`] ?? {}),
    );
    if (covered.length === 0) return [];
    return PLATFORMS.filter((platform) => !covered.includes(platform)).map((each) => `${name}: ${each}`);
  });
}

/** On Linux only glibc counts, since the pinned Node is built for it. */
function platformsOf({ os = [], cpu = [], libc = ["glibc"] }: Built): string[] {
  if (!libc.includes("glibc")) return [];
  return os.flatMap((system) => cpu.map((processor) => `${system}-${processor}`));
}
