import { parse } from "yaml";

/** What the workspace promises to install on: those that its pinned Node is named for. */
const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"] as const;

interface Lockfile {
  readonly packages: Readonly<Record<string, Built>>;
  readonly snapshots: Readonly<
    Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
  >;
}

/** What a package was built for, if it was built at all. */
interface Built {
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/**
 * Which packages that come as one binary for each platform lack one of them, in the text of a lockfile. A registry may have a
 * release before it has all of its binaries; a lockfile made then installs well where it was made and nowhere else.
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

/** Of Linux, those with glibc: it is what the pinned Node is built for. */
function platformsOf({ os = [], cpu = [], libc = ["glibc"] }: Built): string[] {
  if (!libc.includes("glibc")) return [];
  return os.flatMap((system) => cpu.map((processor) => `${system}-${processor}`));
}
