import { durable, LIMITS } from "../configurations.ts";
import { raviSubject } from "../ravi-subject.ts";

const opened = durable();
const runtime = opened.runtime();

export const { subject, team, stream } = raviSubject(() => runtime, LIMITS);
export const { close } = opened;
