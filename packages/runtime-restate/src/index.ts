export { type RestateResumeOptions, restateRuntime, type RestateRuntime } from "./restate-runtime.ts";
export type { RestateRuntimeOptions } from "./options.ts";
export type { RestateRunOptions } from "./client/start.ts";
export type { Listening, ListenOptions } from "./endpoint.ts";
