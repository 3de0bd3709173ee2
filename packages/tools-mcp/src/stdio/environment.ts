/** What a program needs to find its files and others, and nothing more: the rest of an environment is full of keys. */
const PASSED_ON = {
  posix: ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"],
  windows: [
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
  ],
} as const;

type Variables = Readonly<Record<string, string | undefined>>;

/** The variables that a server gets: a few of this process's, and what is given. */
export function environmentOf(
  own: Variables,
  given: Readonly<Record<string, string>>,
  isWindows: boolean,
): Record<string, string> {
  const environment: Record<string, string> = {};
  // Windows knows `Path` and `PATH` as one: of the two it would take its own.
  const taken = new Set(isWindows ? Object.keys(given).map((name) => name.toUpperCase()) : []);
  for (const name of PASSED_ON[isWindows ? "windows" : "posix"]) {
    if (taken.has(name)) continue;
    const value = own[name];
    // A function that a shell has put there would be run by the next shell.
    if (value !== undefined && !value.startsWith("()")) environment[name] = value;
  }
  return { ...environment, ...given };
}
