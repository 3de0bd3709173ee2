import type { AuditLog, Memory, Permissions, RunScope, Skippable, Telemetry } from "@ravi/kernel";

// The defaults for services that were not given. Each is marked with `isNoop` and is therefore never called.

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

/** The services of a run that do something. */
export interface Services {
  readonly permissions: Permissions | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly auditLog: AuditLog | undefined;
}

/**
 * Leaves out services that are marked as no-ops; undefined if none is left. Only `isNoop` on the service itself switches it off.
 */
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

function unlessNoop<S extends Skippable>(service: S | null): S | undefined {
  // Untyped code may put anything here: only `true` leaves the service out.
  const isNoop: unknown = service?.isNoop;
  return service === null || isNoop === true ? undefined : service;
}
