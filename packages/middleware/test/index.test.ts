import { expect, it } from "vitest";
import * as surface from "@ravi/middleware";

it("exports exactly this", () => {
  expect(Object.keys(surface).toSorted()).toEqual([
    "FileAuditLog",
    "MiddlewarePipeline",
    "approval",
    "auditLogger",
    "cache",
    "contentFilter",
    "contentTruncator",
    "fallback",
    "fileValidator",
    "historyTruncator",
    "linearPattern",
    "llmJudge",
    "maxTokens",
    "piiPipelines",
    "piiRedaction",
    "piiRunRedaction",
    "piiToolRedaction",
    "promptInjection",
    "rateLimiter",
    "retry",
    "rulePermissions",
    "schemaValidator",
    "sessionValidation",
    "timeout",
    "toolAudit",
    "toolCache",
    "toolCallValidation",
    "tracing",
    "truncateHistory",
    "wrapModel",
  ]);
});
