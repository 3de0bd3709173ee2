import type { ModelEvent, ModelRequest } from "@ravi/kernel";
import type { Notice, WireAnswer } from "@ravi/kernel/provider";
import type { Rejection, Remedy } from "../failure/corrections.ts";

/** The body of a request, before it is serialized. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** The model and server that a request is for. */
export interface Target {
  readonly model: string;
  readonly provider: string;
  /** Whether it is another server than OpenAI's own or Azure's. */
  readonly isCompatible: boolean;
  readonly stream: boolean;
  /** Logs what could not be sent. */
  readonly notice: Notice;
}

/** Collects one answer. */
export interface Answer extends WireAnswer {
  /** Whether the model has begun to answer, which may be charged for, whatever follows. */
  hasWorked(): boolean;
  /** The remaining events, `finish` last. */
  finish(): readonly ModelEvent[];
}

/** One of OpenAI's two protocols: how a request is written and how an answer is read. */
export interface Protocol {
  readonly api: "responses" | "chat";
  readonly path: string;
  body(request: ModelRequest, target: Target): RequestBody;
  /** What to change in a request that was refused because of something optional; undefined if nothing can be changed. */
  remedyFor(rejection: Rejection, sent: RequestBody): Remedy | undefined;
  collect(provider: string): Answer;
}
