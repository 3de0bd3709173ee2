/**
 * Writes llms.txt (llmstxt.org): what a language model should know about Ravi first, and where to read on. With `--print` it is only
 * printed; with `--full`, the texts that it leads to are, one after the other, without the optional ones.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Link {
  readonly name: string;
  readonly path: string;
  readonly about: string;
}

const HOW_TO_READ = `To write a program that uses Ravi, read [@ravi/sdk](packages/sdk/README.md) first and start from one of the examples. The other packages are its parts: read the README of one to use it alone, or for its options. A README names every option with its default and unit, what is thrown, and what the package does not do; do not guess other names: unknown options are refused. All packages are TypeScript, ES modules only, on Node 22.18 or newer: \`npm install @ravi/sdk zod\`. Links are relative to this file.`;

const GUIDES: readonly Link[] = [
  page("Overview", "README.md", "what Ravi does, a first example, all packages, and its speed"),
  page(
    "Architecture",
    "ARCHITECTURE.md",
    "the layers, how one request flows, and how a run survives a crash",
  ),
  page("In production", "docs/operations.md", "deployments, backups, full disks, locks, clocks and logs"),
  page("Platforms", "docs/platforms.md", "what runs on Node, Bun, Deno, in browsers and in workers"),
  page("From one machine to a cluster", "docs/scaling.md", "what to change when one process is not enough"),
  page("Security", "SECURITY.md", "what Ravi protects against and what not"),
  page(
    "Performance",
    "docs/performance.md",
    "what Ravi itself costs, compared with plain code and other frameworks",
  ),
];

// By llmstxt.org, what a reader with little room leaves out.
const OPTIONAL: readonly Link[] = [
  page("Decision records", "docs/decisions/README.md", "why it is designed as it is, and a list of terms"),
  page("Behaviours by number", "docs/behaviours.md", "what holds, and the tests that show it"),
  page("Contributing", "CONTRIBUTING.md", "commands and rules for those who change Ravi"),
  page("For coding agents", "AGENTS.md", "the same for agents that work in this repository"),
  page("Performance history", "docs/performance-history.md", "earlier figures"),
];

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on("error", () => {});
if (process.argv.includes("--full")) process.stdout.write(fullText());
else if (process.argv.includes("--print")) process.stdout.write(llmsText());
else writeFileSync(join(root, "llms.txt"), llmsText());

/** The text of llms.txt. */
function llmsText(): string {
  const [, title = "", summary = ""] = /^(# .+)\n\n(.+)\n/.exec(read("README.md")) ?? [];
  const sections = [
    section("Guides", GUIDES),
    section("Packages", packages()),
    section("Examples", examples()),
    section("Optional", OPTIONAL),
  ];
  return `${[title, `> ${summary}`, HOW_TO_READ, ...sections].join("\n\n")}\n`;
}

/** The texts that llms.txt leads to, but the optional ones. */
function fullText(): string {
  const links = [...GUIDES, ...packages(), ...examples()];
  return links.map(({ path }) => `<!-- ${path} -->\n\n${shown(path)}`).join("\n");
}

/** The rows of the table in the root README. */
function packages(): Link[] {
  const rows = read("README.md").matchAll(/^\| \[`(@ravi\/[\w-]+)`\]\(([^)]+)\) +\| (.*?) +\|$/gm);
  return [...rows].map(([, name = "", folder = "", about = ""]) => page(name, `${folder}/README.md`, about));
}

/** The rows of the table in examples/README.md. */
function examples(): Link[] {
  const rows = read("examples/README.md").matchAll(/^\| \[([\w-]+)\]\(\1\) +\| (.*?) +\|$/gm);
  return [...rows].map(([, name = "", about = ""]) => {
    const readme = `examples/${name}/README.md`;
    return page(name, existsSync(join(root, readme)) ? readme : `examples/${name}/src/main.ts`, about);
  });
}

function page(name: string, path: string, about: string): Link {
  return { name, path, about };
}

function section(title: string, links: readonly Link[]): string {
  const lines = links.map(({ name, path, about }) => `- [${name}](${path}): ${about}`);
  return [`## ${title}\n`, ...lines].join("\n");
}

function shown(path: string): string {
  return path.endsWith(".md") ? read(path) : `\`\`\`ts\n${read(path)}\`\`\`\n`;
}
