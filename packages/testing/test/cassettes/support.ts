import type { LLMClient, ModelEvent, ModelRequest } from "@ravi/kernel";
import { record, type Script, scriptedModel } from "../../src/index.ts";

export function recording(script: Script, file: string, id?: string): LLMClient {
  return record(scriptedModel(script, id === undefined ? {} : { id }), file);
}

export function stream(client: LLMClient, request: ModelRequest): AsyncIterable<ModelEvent> {
  if (client.stream === undefined) throw new Error("it does not stream");
  return client.stream(request);
}

export async function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
