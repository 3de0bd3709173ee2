import { resolve } from "node:path";
import { checkFields, InvalidValueError } from "@ravi/kernel";
import { assemble, type PromptFacts } from "./assemble.ts";
import { PROMPT_FIELDS, type PromptOptions } from "./options.ts";
import { loadResources, memoryStamp, type Resources } from "./resources.ts";
import type { Skill } from "./skills.ts";

/** Prompts kept ready: one for each channel, day and session that is in use. */
const MOST_CACHED = 64;

/**
 * Makes system prompts, and gives the same bytes again for the same facts. It is read anew by `reload`, and when MEMORY.md or
 * USER.md has changed. Children share their parent's book, so their prompts hit the provider's cache too.
 */
export class PromptBook {
  private readonly options: PromptOptions;
  private readonly directories: readonly string[];
  private readonly cached = new Map<string, string>();
  private resources: Resources | undefined;
  private stamp = "";

  constructor(options: PromptOptions | string | undefined, cwd: string) {
    this.options = checkPrompt(options, cwd);
    this.directories = this.options.directories ?? [];
  }

  get skills(): readonly Skill[] {
    return this.resources?.skills ?? [];
  }

  /** Reads the files, unless they are read and unchanged. */
  async prepare(): Promise<void> {
    const stamp = this.directories.length === 0 ? "" : await memoryStamp(this.directories);
    if (this.resources !== undefined && stamp === this.stamp) return;
    this.resources = await loadResources(this.directories, this.options.docs);
    this.stamp = stamp;
    this.cached.clear();
  }

  async build(facts: Omit<PromptFacts, "appended">): Promise<string> {
    await this.prepare();
    const { append = "" } = this.options;
    const appended = typeof append === "string" ? append : await append();
    const key = JSON.stringify([facts, appended]);
    const known = this.cached.get(key);
    if (known !== undefined) return known;
    if (this.resources === undefined) return "";
    const text = assemble(this.options, this.resources, { ...facts, appended });
    this.cached.set(key, text);
    if (this.cached.size > MOST_CACHED)
      for (const oldest of this.cached.keys()) {
        this.cached.delete(oldest);
        break;
      }
    return text;
  }

  reload(): void {
    this.resources = undefined;
    this.cached.clear();
  }
}

function checkPrompt(options: PromptOptions | string | undefined, cwd: string): PromptOptions {
  if (options === undefined) return {};
  if (typeof options === "string") return { identity: options };
  checkFields("SessionAgent.prompt", options, PROMPT_FIELDS);
  const { directories = [], docs } = options;
  if (!Array.isArray(directories) || !directories.every((path) => typeof path === "string"))
    throw new InvalidValueError({
      field: "SessionAgent.prompt.directories",
      value: directories,
      expected: "a list of paths",
    });
  return {
    ...options,
    directories: directories.map((path: string) => resolve(cwd, path)),
    ...(docs !== undefined && { docs: resolve(cwd, docs) }),
  };
}
