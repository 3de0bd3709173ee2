import { Runtime } from "@ravi/runtime";
import { raviSubject } from "../ravi-subject.ts";

const runtime = new Runtime();

export const { subject, team, stream, streamByCallback } = raviSubject(() => runtime);
