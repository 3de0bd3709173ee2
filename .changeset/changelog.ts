// What a changelog says of a release: the words of each changeset, behind the commit that brought it.

interface Changeset {
  readonly summary: string;
  readonly commit?: string | undefined;
}

export async function getReleaseLine({ summary, commit }: Changeset): Promise<string> {
  const [first = "", ...more] = summary.trim().split("\n");
  const from = commit === undefined ? "" : `${commit.slice(0, 7)}: `;
  return [`- ${from}${first}`, ...more.map((line) => `  ${line}`.trimEnd())].join("\n");
}

/** All packages are released together, under one version: a list of dependencies that were updated would say nothing. */
export async function getDependencyReleaseLine(): Promise<string> {
  return "";
}
