import { tellLog } from "../core/tell-log.ts";
import type { ModelInfo } from "../model/llm.ts";
import type { Logger } from "../ports/services.ts";

/** Says what had to be left out or changed. */
export type Notice = (what: string) => void;

/** More than a program can have to be told; after that nothing is remembered, and nothing said. */
const MOST_NOTICES = 1_000;

/** Warns of each thing once: a conversation of a hundred turns would repeat it a hundred times. */
export function onceEach(logger: Logger | undefined, { provider, model }: ModelInfo): Notice {
  const told = new Set<string>();
  return (what) => {
    if (logger === undefined || told.has(what) || told.size >= MOST_NOTICES) return;
    told.add(what);
    tellLog(logger, "warn", `${provider}/${model}: ${what}`, { provider, model });
  };
}
