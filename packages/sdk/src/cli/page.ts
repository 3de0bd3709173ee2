import process from "node:process";
import type { openPage } from "@ravi/devtools";
import { Runtime } from "@ravi/runtime";
import { UsageError } from "./errors.ts";
import { lookingAt } from "./open.ts";
import type { Request } from "./perform.ts";

/** A local page on all runs, until the program is interrupted. */
export async function showPage({ journal, options, print }: Request): Promise<string> {
  const port = portOf(options.port);
  const devtools = await loadDevtools();
  return lookingAt(journal, async (open) => {
    const readOnly = options["read-only"] === true;
    const page = await devtools.openPage(new Runtime({ journal: open }), { port, readOnly });
    try {
      print(
        `${page.url}\nWhoever has this address can see the runs${readOnly ? "" : " and answer them"}. Ctrl-C closes the page.`,
      );
      await interrupted();
    } finally {
      await page.close();
    }
    return "";
  });
}

function portOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^\d{1,5}$/.test(given) && Number(given) <= 65_535) return Number(given);
  throw new UsageError(`--port is ${JSON.stringify(given)}; expected a number up to 65535`);
}

async function loadDevtools(): Promise<{ readonly openPage: typeof openPage }> {
  try {
    return await import("@ravi/devtools");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes("'@ravi/devtools'")) throw cause;
    throw new UsageError("the page is a package of its own: npm install @ravi/devtools");
  }
}

/** Resolves at the first Ctrl-C, or when the program is told to end. A second one ends it at once. */
function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      process.off("SIGINT", end);
      process.off("SIGTERM", end);
      resolve();
    };
    process.on("SIGINT", end);
    process.on("SIGTERM", end);
  });
}
