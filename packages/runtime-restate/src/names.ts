/** The services that every worker offers. Newer code must still answer to them: runs live longer than deployments. */
export const ROOT = "RaviRoot";
export const EXECUTION = "RaviExecution";
export const WATCHER = "RaviWatcher";
export const TOPIC = "RaviTopic";

/** What the root object keeps: all it decides by, and the line of it that a list of runs shows. */
export const STATE = "root";
export const SUMMARY = "summary";
