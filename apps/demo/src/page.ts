import { openPage } from "@ravi/devtools";
import type { Journal } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import type { Signals } from "./signals.ts";

/** A page on the runs in a journal, while a person may look at it. */
export interface RunsPage extends AsyncDisposable {
  readonly url: string;
  /** Resolves at the first signal to end. */
  untilSignal(signals: Signals): Promise<void>;
}

/** It has a runtime of its own, as the page of another process would: everything that it shows is in the journal. */
export async function openRunsPage(journal: Journal): Promise<RunsPage> {
  const page = await openPage(new Runtime({ journal }));
  return {
    url: page.url,
    async untilSignal(signals) {
      if (signals.code !== undefined) return;
      await new Promise<void>((resolve) => {
        signals.onFirst = resolve;
      });
    },
    [Symbol.asyncDispose]: () => page.close(),
  };
}
