import type { AuditLog, Memory, Permissions, RunScope, Telemetry } from "@ravi/kernel";

// What stands where nothing was given. Each says so by `isNoop`, and is then left out of every call.

export const NO_MEMORY: Memory = Object.freeze({
  isNoop: true,
  remember: (_: RunScope, text: string) => ({ id: "", text, at: 0 }),
  recall: () => [],
  forget: () => {},
});

export const ALLOW_ALL: Permissions = Object.freeze({
  isNoop: true,
  check: () => ({ allow: true }) as const,
});

export const NO_TELEMETRY: Telemetry = Object.freeze({
  isNoop: true,
  startSpan: () => ({ setAttribute: () => {}, recordError: () => {}, end: () => {} }),
  metric: () => {},
});

/** The services of a run that are really there. */
export interface Services {
  readonly permissions: Permissions | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly auditLog: AuditLog | undefined;
}

/** Leaves out what does nothing; undefined when nothing is left. Only the service itself says that it does nothing. */
export function activeServices(given: {
  readonly permissions: Permissions;
  readonly telemetry: Telemetry;
  readonly auditLog: AuditLog | null;
}): Services | undefined {
  const services: Services = {
    permissions: unlessNoop(given.permissions),
    telemetry: unlessNoop(given.telemetry),
    auditLog: unlessNoop(given.auditLog),
  };
  return Object.values(services).every((service) => service === undefined) ? undefined : services;
}

function unlessNoop<S extends { readonly isNoop: boolean }>(service: S | null): S | undefined {
  // Whatever a service without types says: only a clear yes leaves it out.
  const isNoop: unknown = service?.isNoop;
  return service === null || isNoop === true ? undefined : service;
}
