import assert from "node:assert/strict";
import { openPage, type WatchedRuns } from "@ravi/devtools";
import { InvalidValueError } from "@ravi/kernel";

// What the page asks. A `Runtime` with a journal has all of it: openPage(new Runtime({ journal: SqliteJournal.open(".ravi") }))
// shows the runs of every process that uses that folder. Here there are none.
const runs: WatchedRuns = {
  list: () => [],
  inspect: (runId) => {
    throw new InvalidValueError({ field: "run", value: runId, expected: "the id of a run; there are none" });
  },
  recordedEvents: () => [],
  deliver: () => {},
  cancel: () => {},
};

const page = await openPage(runs);
try {
  // Print it, and open it in a browser. Whoever has it can see and answer all runs.
  assert.match(page.url, /^http:\/\/127\.0\.0\.1:\d+\/#key=[\w-]{22}$/);
  const [address, key] = page.url.split("#key=");
  assert.equal((await fetch(`${address}api/runs`)).status, 401); // nobody gets anything without the key
  const answer = await fetch(`${address}api/runs`, { headers: { authorization: `Bearer ${key}` } });
  assert.deepEqual(((await answer.json()) as { runs: unknown }).runs, []);
} finally {
  await page.close();
}
