import type { ModelEvent, ModelRequest, ModelResponse } from "@ravi/kernel";
import type { Notice } from "@ravi/kernel/provider";
import type { Rejection, Remedy } from "./failure/corrections.ts";

/** The body of a request, before it is written as JSON. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** Who is asked, and how. */
export interface Target {
  readonly model: string;
  readonly provider: string;
  /** Not a server of OpenAI's. */
  readonly isCompatible: boolean;
  readonly stream: boolean;
  /** Tells what of a request could not be sent. */
  readonly notice: Notice;
}

/** An answer as it comes in. */
export interface Answer {
  /** One event of a stream, with the name that it came under. */
  add(event: unknown, name: string): readonly ModelEvent[];
  /** The answer that was not streamed. */
  addWhole(body: unknown): readonly ModelEvent[];
  /** The server said why it ended: nothing of the answer is missing. */
  readonly isFinished: boolean;
  /** Nothing that matters can follow, so nothing more is read. */
  readonly isOver: boolean;
  /** What is left to tell, with `finish` at the end. */
  finish(): readonly ModelEvent[];
  response(): ModelResponse;
}

/** One of OpenAI's two protocols: what a request looks like, and what is made of an answer. */
export interface Protocol {
  readonly api: "responses" | "chat";
  readonly path: string;
  body(request: ModelRequest, target: Target): RequestBody;
  /** What to change in a request that was refused for something that an answer can do without. */
  remedyFor(rejection: Rejection, sent: RequestBody): Remedy | undefined;
  collect(provider: string): Answer;
}
