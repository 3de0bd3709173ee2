import {
  type ChatContext,
  type LlmLeaf,
  type ModelResponse,
  type StreamTransform,
  textOf,
} from "@ravi/kernel";
import type { Execution } from "./execution.ts";
import { LevelCall } from "./level-call.ts";
import { Stillness } from "./stillness.ts";

/** What the context needs to know of a model call. */
interface WrappedCall extends Pick<LlmLeaf, "model" | "request"> {
  readonly key: string;
  readonly isRetried: boolean;
  /** Makes a model call of a layer's own, inside of this one. */
  nested(model: LlmLeaf["model"], request: LlmLeaf["request"]): Promise<ModelResponse>;
  addTransform(transform: StreamTransform): void;
}

/** The context of layers around one model call. */
export class ChatCall extends LevelCall implements ChatContext {
  readonly key: string;
  model: LlmLeaf["model"];
  request: LlmLeaf["request"];
  result: ModelResponse | undefined;
  retried: boolean;
  private readonly wrapped: WrappedCall;
  private stillness: Stillness | undefined;

  constructor(exec: Execution, wrapped: WrappedCall) {
    super(exec);
    this.wrapped = wrapped;
    this.key = wrapped.key;
    this.model = wrapped.model;
    this.request = wrapped.request;
    this.retried = wrapped.isRetried;
  }

  get waitedMs(): number {
    return this.madeStillness.ms;
  }

  /** It waits for money, until the function that this returns is called. */
  standStill(): () => void {
    return this.madeStillness.standStill();
  }

  /** A call inside of it is under way, until the function that this returns is called. Only whoever limits its time needs to know. */
  move(): (() => void) | undefined {
    return this.stillness?.move();
  }

  private get madeStillness(): Stillness {
    return (this.stillness ??= new Stillness(this.clock));
  }

  get systemInstructions(): string {
    const first = this.wrapped.request.messages[0];
    return first?.role === "system" ? textOf(first) : "";
  }

  // Getters that return functions, so that a layer may destructure them.
  get call(): ChatContext["call"] {
    return (model, request) => this.wrapped.nested(model, request);
  }

  get addTransform(): ChatContext["addTransform"] {
    return (transform) => this.wrapped.addTransform(transform);
  }
}
