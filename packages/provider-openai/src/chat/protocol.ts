import type { Protocol } from "../wire/protocol.ts";
import { collectAnswer } from "./answer.ts";
import { chatRemedy } from "./remedies.ts";
import { chatBody } from "./request.ts";

/** Chat Completions, which every compatible server speaks. */
export const CHAT: Protocol = Object.freeze({
  api: "chat",
  path: "/chat/completions",
  body: chatBody,
  remedyFor: chatRemedy,
  collect: collectAnswer,
});
