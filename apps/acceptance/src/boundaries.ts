import { posix } from "node:path";
import type { Member, SourceFile } from "./workspace.ts";

const SCOPE = "@ravi/";
const KERNEL = "@ravi/kernel";
const TESTING = "@ravi/testing";

/**
 * Members that may depend on more than the kernel because they compose packages: the sdk, and everything outside of `packages`.
 */
function isComposition(member: Member): boolean {
  return member.folder === "packages/sdk" || !member.folder.startsWith("packages/");
}

/** Checks the rule "only the kernel" in every manifest and import. Returns one line for each violation. */
export function violations(members: readonly Member[]): string[] {
  return members.flatMap((member) => [
    ...manifestViolations(member),
    ...member.files.flatMap((file) => importViolations(member, file)),
  ]);
}

function manifestViolations(member: Member): string[] {
  if (isComposition(member)) return [];
  const { name, dependencies, peerDependencies, optionalDependencies, devDependencies } = member.manifest;
  const runtime = Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies });
  const found = runtime.filter((wanted) =>
    name === KERNEL ? true : wanted.startsWith(SCOPE) && wanted !== KERNEL,
  );
  const allowed = name === KERNEL ? [] : [KERNEL, TESTING];
  const dev = Object.keys(devDependencies ?? {}).filter(
    (wanted) => wanted.startsWith(SCOPE) && !allowed.includes(wanted),
  );
  return [
    ...found.map((wanted) => `${name} depends on ${wanted}`),
    ...dev.map((wanted) => `${name} depends on ${wanted} for development`),
  ];
}

/**
 * Compares each manifest with the references of the tsconfig files: without a reference `tsc -b` does not build first what a package
 * needs, which is seen only where nothing was built before. Returns one line for each difference.
 */
export function referenceViolations(members: readonly Member[]): string[] {
  return members.flatMap((member) => {
    const { dependencies, peerDependencies, optionalDependencies, devDependencies } = member.manifest;
    const needed = ours({ ...dependencies, ...peerDependencies, ...optionalDependencies });
    const declared = new Set([...needed, ...ours(devDependencies ?? {})]);
    const referred = new Set(member.references.map(({ to }) => to));
    const built = new Set(
      member.references.filter(({ from }) => from === "tsconfig.build.json").map(({ to }) => to),
    );
    const inBuild = member.folder.startsWith("packages/") ? needed.filter((name) => !built.has(name)) : [];
    const { folder } = member;
    return [
      ...inBuild.map((name) => `${folder}/tsconfig.build.json does not refer to ${name}`),
      ...[...declared]
        .filter((name) => !referred.has(name) && !inBuild.includes(name))
        .map((name) => `no tsconfig of ${folder} refers to ${name}`),
      ...[...referred]
        .filter((name) => !declared.has(name))
        .map((name) => `${folder} refers to ${name}, which is not among its dependencies`),
    ];
  });
}

function ours(dependencies: Readonly<Record<string, string>>): string[] {
  return Object.keys(dependencies).filter((name) => name.startsWith(SCOPE));
}

function importViolations(member: Member, file: SourceFile): string[] {
  const say = (specifier: string, why: string): string =>
    `${member.folder}/${file.path} imports ${specifier}: ${why}`;
  return file.imports.flatMap((specifier) => {
    if (specifier.startsWith(".")) {
      const target = posix.normalize(posix.join(posix.dirname(file.path), specifier));
      return target.startsWith("..") ? [say(specifier, "outside its package")] : [];
    }
    if (isComposition(member)) return [];
    const packageName = packageOf(specifier);
    if (file.path.startsWith("src/")) {
      if (member.manifest.name === KERNEL) return [say(specifier, "the kernel imports nothing")];
      if (specifier.startsWith("node:")) return [];
      if (packageName.startsWith(SCOPE) && packageName !== KERNEL)
        return [say(specifier, "only the kernel is allowed")];
      const { dependencies, peerDependencies } = member.manifest;
      const declared = packageName in { ...dependencies, ...peerDependencies };
      return declared ? [] : [say(specifier, "not among its dependencies")];
    }
    const known = [member.manifest.name, KERNEL, TESTING];
    return packageName.startsWith(SCOPE) && !known.includes(packageName)
      ? [say(specifier, "tests may add only testing")]
      : [];
  });
}

function packageOf(specifier: string): string {
  const [first = "", second] = specifier.split("/");
  return first.startsWith("@") && second !== undefined ? `${first}/${second}` : first;
}
