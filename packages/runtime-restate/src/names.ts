/** The services that every worker offers. They must never change, because runs live longer than deployments. */
export const ROOT = "RaviRoot";
export const EXECUTION = "RaviExecution";
export const WATCHER = "RaviWatcher";
export const TOPIC = "RaviTopic";

/** The keys of the root object's state: everything that it decides by, and the summary for the list of runs. */
export const STATE = "root";
export const SUMMARY = "summary";
