import { InvalidValueError, type RunSummary, runs } from "@ravi/sdk";

/** The run with that id, or the only one whose id begins so. Throws if there is none, or several. */
export async function findRun(journal: string, given: string): Promise<RunSummary> {
  const all = await runs({ journal });
  const exact = all.find(({ runId }) => runId === given);
  if (exact !== undefined) return exact;
  const [found, ...others] = given === "" ? [] : all.filter(({ runId }) => runId.startsWith(given));
  if (found === undefined)
    throw wrong(given, `the id of a run in ${journal}, which has ${all.length}; ravi runs --all lists them`);
  if (others.length === 0) return found;
  const some = [found, ...others].slice(0, 3).map(({ runId }) => runId);
  throw wrong(given, `the beginning of one id; ${others.length + 1} begin so, such as ${some.join(", ")}`);
}

function wrong(value: string, expected: string): InvalidValueError {
  return new InvalidValueError({ field: "run", value, expected });
}
