import {
  type ChatContext,
  type LlmLeaf,
  type ModelResponse,
  type StreamTransform,
  textOf,
} from "@ravi/kernel";
import type { Execution } from "./execution.ts";
import { LevelCall } from "./level-call.ts";

/** A model call, as its context needs it. */
interface Asked extends Pick<LlmLeaf, "model" | "request"> {
  readonly key: string;
  /** A model call of a layer's own. */
  nested(model: LlmLeaf["model"], request: LlmLeaf["request"]): Promise<ModelResponse>;
  addTransform(transform: StreamTransform): void;
}

/** Around one model call. */
export class ChatCall extends LevelCall implements ChatContext {
  readonly key: string;
  model: LlmLeaf["model"];
  request: LlmLeaf["request"];
  result: ModelResponse | undefined;
  private readonly asked: Asked;

  constructor(exec: Execution, asked: Asked) {
    super(exec);
    this.asked = asked;
    this.key = asked.key;
    this.model = asked.model;
    this.request = asked.request;
  }

  get systemInstructions(): string {
    const first = this.asked.request.messages[0];
    return first?.role === "system" ? textOf(first) : "";
  }

  // Made for whoever asks, so that they may be taken from the context.
  get call(): ChatContext["call"] {
    return (model, request) => this.asked.nested(model, request);
  }

  get addTransform(): ChatContext["addTransform"] {
    return (transform) => this.asked.addTransform(transform);
  }
}
