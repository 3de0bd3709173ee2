import type { HooksProvider } from "@restatedev/restate-sdk";
import { NonDeterminismError } from "@ravi/kernel";
import type { Launch } from "../root/messages.ts";

/** What the SDK's errors say where the journal has another step than the one that is taken. */
const MISMATCH = 570;

/** Never fails: why the attempt ended is what the server must hear. */
type Tell = (launch: Launch, why: NonDeterminismError, signal: AbortSignal) => Promise<void>;

/**
 * An agent that has changed may take another step than the one on record. The SDK finds that out where the two are of different
 * kinds, and ends the attempt without a word to its handler; so it is heard around the handler, for whoever waits for the run.
 */
export function hearMismatch(tell: Tell): HooksProvider {
  return ({ request }) => ({
    interceptor: {
      async handler(next) {
        try {
          await next();
        } catch (error) {
          if (error instanceof Error && "code" in error && error.code === MISMATCH) {
            const launch = JSON.parse(new TextDecoder().decode(request.body)) as Launch;
            const why = mismatchOf(launch.execId, error.message);
            await tell(launch, why, request.attemptCompletedSignal);
          }
          throw error;
        }
      },
    },
  });
}

/** The SDK's lines after the first two say which steps they are. */
function mismatchOf(execId: string, message: string): NonDeterminismError {
  const details = message.split("\n").slice(2).join(" ").replaceAll(/\s+/g, " ").trim();
  const requested = details === "" ? "this one" : `this one (${details})`;
  return new NonDeterminismError({ execId, key: "a step", recorded: "another step", requested });
}
