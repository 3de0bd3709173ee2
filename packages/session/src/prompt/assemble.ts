import { join } from "node:path";
import { DEFAULT_IDENTITY, PLATFORMS, type PromptOptions } from "./options.ts";
import type { Resources } from "./resources.ts";
import { SKILL_TOOL, skillsBlock } from "./skills.ts";

/** What a system prompt depends on, beside files and options. */
export interface PromptFacts {
  readonly channel: string | null;
  /** `YYYY-MM-DD` */
  readonly date: string;
  readonly cwd: string;
  /** Null if the model should not be told one. */
  readonly sessionId: string | null;
  readonly toolNames: readonly string[];
  /** The text of the `append` option. */
  readonly appended: string;
}

/**
 * Joins the parts of a system prompt in their order. What changes least comes first, so that as much as possible of it
 * stays in the provider's prefix cache.
 */
export function assemble(options: PromptOptions, resources: Resources, facts: PromptFacts): string {
  const { memory, user, skills } = resources;
  const canRead = facts.toolNames.some((name) => name === "read" || name === SKILL_TOOL);
  const hints = { ...PLATFORMS, ...options.platforms };
  const hint =
    facts.channel !== null && Object.hasOwn(hints, facts.channel) ? hints[facts.channel] : undefined;
  const parts = [
    options.identity ?? resources.system ?? resources.soul ?? DEFAULT_IDENTITY,
    docsPart(options.docs, resources.docs),
    facts.appended,
    ...resources.knowledge.map(({ name, text }) => `<knowledge file="${name}">\n${text}\n</knowledge>`),
    memory && `<memory>\n${memory}\n</memory>`,
    user && `<user>\n${user}\n</user>`,
    canRead && skills.length > 0 ? skillsBlock(skills) : "",
    hint,
    options.footer === false ? "" : footer(options, facts),
  ];
  return parts.filter((part) => part !== undefined && part !== "").join("\n\n");
}

function docsPart(folder: string | undefined, files: readonly string[]): string {
  if (folder === undefined || files.length === 0) return "";
  const list = files.map((file) => `- ${file.slice(0, -".md".length)}: ${join(folder, file)}`);
  return `Documentation (read a file when its topic comes up):\n${list.join("\n")}`;
}

function footer({ directories = [] }: PromptOptions, { date, cwd, sessionId }: PromptFacts): string {
  return [
    `Current date: ${date}`,
    `Current working directory: ${cwd}`,
    ...directories.map((directory) => `Directory: ${directory}`),
    ...(sessionId === null ? [] : [`Session ID: ${sessionId}`]),
  ].join("\n");
}
