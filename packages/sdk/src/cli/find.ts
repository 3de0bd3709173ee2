import { InvalidValueError, type RunSummary, runs } from "@ravi/sdk";

/** How much of an id is enough, by what is done. Who means `run-1` may see `run-10`, but must not answer it. */
const ENOUGH = {
  look: (runId: string, given: string) => runId.startsWith(given),
  answer: (runId: string, given: string) =>
    runId.startsWith(given) && /^[^\p{L}\p{N}]/u.test(runId.slice(given.length)),
  end: () => false,
} as const;

/** The run with that id, or the only one whose id begins so, if that is enough. Throws if there is none, or several. */
export async function findRun(
  journal: string,
  given: string,
  does: keyof typeof ENOUGH,
): Promise<RunSummary> {
  const all = await runs({ journal });
  const exact = all.find(({ runId }) => runId === given);
  if (exact !== undefined) return exact;
  const [found, ...others] = given === "" ? [] : all.filter(({ runId }) => ENOUGH[does](runId, given));
  if (found === undefined) {
    const id = does === "end" ? "the whole id" : "the id";
    throw wrong(given, `${id} of a run in ${journal}, which has ${all.length}; ravi runs --all lists them`);
  }
  if (others.length === 0) return found;
  const some = [found, ...others].slice(0, 3).map(({ runId }) => runId);
  throw wrong(given, `the beginning of one id; ${others.length + 1} begin so, such as ${some.join(", ")}`);
}

function wrong(value: string, expected: string): InvalidValueError {
  return new InvalidValueError({ field: "run", value, expected });
}
