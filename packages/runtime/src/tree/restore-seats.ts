import type { Recording } from "../engine/recording.ts";
import type { RecordedHires } from "./recorded-hires.ts";
import { SeatReplay } from "./seat-replay.ts";
import type { Tree } from "./tree.ts";

/** Takes the seats of all hires that have one now. Each is kept in `tree.restored` until its agent runs again. */
export async function restoreSeats(
  tree: Tree,
  recording: Recording,
  { entries }: RecordedHires,
): Promise<void> {
  const { headcount } = tree;
  if (headcount === undefined) return;
  const replay = new SeatReplay(headcount);
  for (const { phase, hire } of entries) {
    const { execId, begin, end } = hire;
    // It was denied, or never got a seat. Taking one for it now would count for the rest of the run.
    if (end?.body["unseated"] === true) continue;
    if (phase === "begin") await replay.begin(execId, begin, !recording.of(execId).isCaughtUp);
    else await replay.end(execId);
  }
  for (const execId of replay.seated.keys()) tree.restored.seats.add(execId);
}
