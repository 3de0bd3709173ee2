import { governedRuntimes, LIMITS } from "../configurations.ts";
import { raviSubject } from "../ravi-subject.ts";

export const { subject, team, stream, streamByCallback } = raviSubject(governedRuntimes(), LIMITS);
