import type { HooksProvider } from "@restatedev/restate-sdk";
import { NonDeterminismError } from "@ravi/kernel";
import type { Launch } from "../root/messages.ts";

/** The code of the SDK's errors if the journal has another step than the one that is taken. */
const MISMATCH = 570;

/** Must not throw: the server has to get the original error. */
type Report = (launch: Launch, why: NonDeterminismError, signal: AbortSignal) => Promise<void>;

/**
 * If an agent's code has changed, it may take another step than the recorded one. If the two are of different kinds, the SDK ends
 * the attempt without telling its handler. This hook around the handler reports it, for everybody who waits for the run.
 */
export function reportMismatch(report: Report): HooksProvider {
  return ({ request }) => ({
    interceptor: {
      async handler(next) {
        try {
          await next();
        } catch (error) {
          if (error instanceof Error && "code" in error && error.code === MISMATCH) {
            const launch = JSON.parse(new TextDecoder().decode(request.body)) as Launch;
            const why = mismatchOf(launch.execId, error.message);
            await report(launch, why, request.attemptCompletedSignal);
          }
          throw error;
        }
      },
    },
  });
}

/** The lines of the SDK's message after the first two name the steps. */
function mismatchOf(execId: string, message: string): NonDeterminismError {
  const details = message.split("\n").slice(2).join(" ").replaceAll(/\s+/g, " ").trim();
  const requested = details === "" ? "this one" : `this one (${details})`;
  return new NonDeterminismError({ execId, key: "a step", recorded: "another step", requested });
}
