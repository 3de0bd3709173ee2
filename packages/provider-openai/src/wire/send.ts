import { classifyError, ErrorKind, type ModelRequest } from "@ravi/kernel";
import {
  checkRequest,
  correctedKey,
  headerText,
  MAX_CORRECTIONS,
  type Notice,
  type ProviderCall,
} from "@ravi/kernel/provider";
import { APIError } from "openai";
import type { Connection } from "./connection.ts";
import { correct, learn, rejectionOf, type Remedy } from "../failure/corrections.ts";

interface SendOptions {
  /** Whether the caller reads the answer as it comes. */
  readonly isStreamed: boolean;
  readonly idempotencyKey: string | undefined;
}

/** Sends the requests of one client, and remembers which parameters its server refuses. */
export type Send = (call: ProviderCall, request: ModelRequest, options: SendOptions) => Promise<Response>;

export interface SenderSetup {
  readonly model: string;
  readonly provider: string;
  readonly connection: () => Connection;
  readonly notice: Notice;
}

/** Creates the sender of one client. */
export function makeSender({ model, provider, connection, notice }: SenderSetup): Send {
  const learned: Remedy[] = [];
  return async (call, request, { isStreamed, idempotencyKey }) => {
    if (call.stopped !== undefined) throw call.stopped;
    checkRequest(request);
    const { client, isCompatible, protocol } = connection();
    // OpenAI's models may think for longer than a silent connection stays open. The answer would be paid for and lost.
    const stream = isStreamed || (protocol.api === "responses" && !isCompatible);
    const post = (body: unknown, key: string | undefined): Promise<Response> =>
      call.wait(
        client
          .post(protocol.path, {
            body,
            signal: call.signal,
            ...(key === undefined ? {} : { headers: { "idempotency-key": headerText(key) } }),
          })
          .asResponse(),
      );
    let body = correct(protocol.body(request, { model, provider, isCompatible, stream, notice }), learned);
    const renamed = new Set<string | undefined>();
    for (let corrections = 0; ; corrections++) {
      try {
        return await post(body, correctedKey(idempotencyKey, corrections));
      } catch (error) {
        if (call.stopped !== undefined || !(error instanceof APIError)) throw error;
        // A prompt that was filtered or is too long was read before it was refused, and Azure charges for that. It must not be sent
        // again.
        const { kind } = classifyError(error);
        if (kind === ErrorKind.CONTENT_BLOCKED || kind === ErrorKind.CONTEXT_OVERFLOW) throw error;
        const remedy = protocol.remedyFor(rejectionOf(error), body);
        // A new name is not corrected back to the old one.
        if (remedy === undefined || corrections === MAX_CORRECTIONS || renamed.has(remedy.param)) throw error;
        renamed.add(remedy.to);
        // Others of this client may have been refused meanwhile, too.
        const known = correct(body, learned);
        body = correct(known, [remedy]);
        // If it changes nothing, it is known: what calls at once learn together is remembered once.
        if (JSON.stringify(known) !== JSON.stringify(body)) learn(learned, remedy);
        notice(`the server does not accept ${remedy.param}: ${remedy.effect}`);
      }
    }
  };
}
