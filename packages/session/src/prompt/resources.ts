import { stat } from "node:fs/promises";
import { join } from "node:path";
import { namesIn, readText } from "./read-text.ts";
import { type Skill, skillsIn } from "./skills.ts";

/** What was read from the folders of `PromptOptions`. */
export interface Resources {
  readonly system: string | undefined;
  readonly soul: string | undefined;
  readonly memory: string | undefined;
  readonly user: string | undefined;
  readonly knowledge: readonly { readonly name: string; readonly text: string }[];
  readonly docs: readonly string[];
  readonly skills: readonly Skill[];
}

export async function loadResources(
  directories: readonly string[],
  docs: string | undefined,
): Promise<Resources> {
  const last = async (name: string): Promise<string | undefined> => {
    const texts = await Promise.all(directories.map((directory) => readText(join(directory, name))));
    return texts.findLast((text) => text !== undefined && text !== "");
  };
  const skills = new Map<string, Skill>();
  const knowledge = new Map<string, string>();
  for (const directory of directories) {
    for (const skill of await skillsIn(join(directory, "skills"))) skills.set(skill.name, skill);
    for (const name of await markdownIn(join(directory, "knowledge"))) {
      const text = await readText(join(directory, "knowledge", name));
      if (text !== undefined && text !== "") knowledge.set(name, text);
    }
  }
  return {
    system: await last("SYSTEM.md"),
    soul: await last("SOUL.md"),
    memory: await last("MEMORY.md"),
    user: await last("USER.md"),
    knowledge: [...knowledge].map(([name, text]) => ({ name, text })),
    docs: docs === undefined ? [] : await markdownIn(docs),
    skills: [...skills.values()],
  };
}

/** A text that changes when a file does that a turn may write: MEMORY.md or USER.md. */
export async function memoryStamp(directories: readonly string[]): Promise<string> {
  const paths = directories.flatMap((directory) => [
    join(directory, "MEMORY.md"),
    join(directory, "USER.md"),
  ]);
  const stamps = await Promise.all(
    paths.map(async (path) => {
      try {
        const { mtimeMs, size } = await stat(path);
        return `${mtimeMs}:${size}`;
      } catch {
        // The file does not exist yet.
        return "-";
      }
    }),
  );
  return stamps.join(" ");
}

async function markdownIn(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => name.endsWith(".md"));
}
