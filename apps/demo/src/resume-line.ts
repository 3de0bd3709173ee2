import type { Args } from "./args.ts";

/** The command that resumes the run, quoted so that it can be pasted into a shell. */
export function resumeLine({ model, baseURL, price, sdk, engine }: Args, folder: string): string {
  const same = [
    ...(model === undefined ? [] : ["--model", quoted(model)]),
    ...(baseURL === undefined ? [] : ["--base-url", quoted(baseURL)]),
    ...(price === undefined ? [] : ["--price", quoted(price)]),
    ...(sdk ? ["--sdk"] : []),
    ...(engine === "restate" ? ["--engine", engine] : []),
  ];
  return ["npx -y pnpm@12 demo", "--journal", quoted(folder), "--resume", ...same].join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
