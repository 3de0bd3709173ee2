/**
 * `restateRuntime`: runs agents on a Restate server or cluster, under the same rules as `Runtime`.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { type RestateResumeOptions, restateRuntime, type RestateRuntime } from "./restate-runtime.ts";
export type { RestateRuntimeOptions } from "./options.ts";
export type { RestateRunOptions } from "./client/start.ts";
export type { RestateSendOptions } from "./client/send.ts";
export type { Http2Handler, Listening, ListenOptions } from "./endpoint.ts";
