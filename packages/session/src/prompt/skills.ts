import { join } from "node:path";
import { defineTool, type Tool, ToolError } from "@ravi/kernel";
import { textSchema } from "@ravi/kernel/loop";
import { namesIn, readText } from "./read-text.ts";

/** A folder with a SKILL.md. Its name and description are in the prompt; the instructions are read when they are needed. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The path of its SKILL.md. */
  readonly location: string;
}

const SKILL_FILE = "SKILL.md";

/** The skills in a folder. One without a description is skipped: the model could not know when to use it. */
export async function skillsIn(folder: string): Promise<Skill[]> {
  const skills: Skill[] = [];
  for (const name of await namesIn(folder)) {
    const location = join(folder, name, SKILL_FILE);
    const text = await readText(location);
    if (text === undefined) continue;
    const { fields } = frontMatter(text);
    const description = fields.get("description") ?? "";
    // An empty name counts as missing.
    if (description !== "") skills.push({ name: fields.get("name") || name, description, location });
  }
  return skills;
}

/** The `key: value` lines between two `---` lines at the top, and the rest of the text. */
function frontMatter(text: string): {
  readonly fields: ReadonlyMap<string, string>;
  readonly body: string;
} {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === "---");
  if (lines[0]?.trim() !== "---" || end === -1) return { fields: new Map(), body: text };
  const fields = new Map<string, string>();
  let last: string | undefined;
  for (const line of lines.slice(1, end)) {
    const [, key, value = ""] = /^([A-Za-z][\w-]*):\s*(.*)$/.exec(line) ?? [];
    if (key !== undefined) {
      last = key.toLowerCase();
      fields.set(last, /^[|>][+-]?$/.test(value.trim()) ? "" : unquoted(value.trim()));
    } else if (last !== undefined && /^\s+\S/.test(line)) {
      // A continuation line of the value before it.
      fields.set(last, `${fields.get(last) ?? ""} ${line.trim()}`.trim());
    }
  }
  return {
    fields,
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

function unquoted(value: string): string {
  const quote = value[0];
  return value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote)
    ? value.slice(1, -1)
    : value;
}

/** The part of the prompt that lists the skills. */
export function skillsBlock(skills: readonly Skill[]): string {
  const entries = skills.map(
    ({ name, description, location }) =>
      `  <skill>\n    <name>${escape(name)}</name>\n    <description>${escape(description)}</description>\n    <location>${escape(location)}</location>\n  </skill>`,
  );
  return `Before a task that one of these skills is for, read the skill and follow it.\n<available_skills>\n${entries.join("\n")}\n</available_skills>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export const SKILL_TOOL = "skill";

/** A tool that reads a skill by its name. Only skills that are listed can be read. */
export function skillTool(skills: () => readonly Skill[]): Tool<{ readonly name: string }, string> {
  return defineTool({
    name: SKILL_TOOL,
    description: "Reads the instructions of a skill. Use it before a task that a listed skill is for.",
    input: textSchema({ name: "A name from available_skills." }),
    idempotent: true,
    async execute({ name }) {
      const skill = skills().find((candidate) => candidate.name === name);
      const text = skill && (await readText(skill.location));
      if (text !== undefined) return frontMatter(text).body;
      const known = skills().map((candidate) => candidate.name);
      const message = `there is no skill ${JSON.stringify(name)}; available: ${known.join(", ") || "none"}`;
      throw new ToolError({ toolName: SKILL_TOOL, message });
    },
  });
}
