/** What a browser does not have. */
interface Host {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } | undefined;
}

/** A variable of the environment, without the space around it; undefined if it is empty, or where there is no environment. */
export function variable(name: string): string | undefined {
  const text = (globalThis as Host).process?.env?.[name]?.trim();
  return text === "" ? undefined : text;
}
