import { tellLog } from "../core/tell-log.ts";
import type { ModelInfo } from "../model/llm.ts";
import type { Logger } from "../ports/services.ts";

/** Reports that something had to be left out or changed. */
export type Notice = (what: string) => void;

/** An upper bound for the memory. After so many different notices, further ones are dropped. */
const MAX_NOTICES = 1_000;

/** Makes a `Notice` that logs each text only once: a conversation of a hundred turns would repeat it a hundred times. */
export function onceEach(logger: Logger | undefined, { provider, model }: ModelInfo): Notice {
  const logged = new Set<string>();
  return (what) => {
    if (logger === undefined || logged.has(what) || logged.size >= MAX_NOTICES) return;
    logged.add(what);
    tellLog(logger, "warn", `${provider}/${model}: ${what}`, { provider, model });
  };
}
