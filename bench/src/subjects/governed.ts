import { governedRuntime, LIMITS } from "../configurations.ts";
import { raviSubject } from "../ravi-subject.ts";

const runtime = governedRuntime();

export const { subject, team, stream, streamByCallback } = raviSubject(() => runtime, LIMITS);
