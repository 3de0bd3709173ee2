/** Paths as text: nothing here asks a disk. Both separators count, since a tool may run anywhere. */

/** Why a text cannot be a path that we accept, whatever the folders are. */
export function pathProblem(path: string): string | undefined {
  if (path === "" || path.length > 4_096) return "the path is empty or too long";
  // eslint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(path)) return "the path contains control characters";
  // A `file:` is a URL with any number of slashes, and readers of URLs pass over blanks. One letter is a drive's.
  if (/^\s*(?:file:|[a-z][a-z0-9+.-]+:[\\/])/i.test(path)) return "a URL is not a path";
  if (path.startsWith("~")) return "the path is relative to a home folder";
  if (/^[\\/]{2}/.test(path)) return "the path names another machine or device";
  if (/%(?:2e|2f|5c|00)/i.test(path)) return "the path contains encoded dots or separators";
  if (path.split(/[\\/]/).some((part) => part === "..")) return "the path goes up (..)";
  return undefined;
}

/** The path from the folder, without `.` and `..`; an absolute path stays where it is. */
export function resolvePath(folder: string, path: string): string {
  const isAbsolute = /^(?:[\\/]|[A-Za-z]:)/.test(path);
  const text = isAbsolute ? path : `${folder}/${path}`;
  const drive = /^[A-Za-z]:/.exec(text)?.[0] ?? "";
  const parts: string[] = [];
  for (const part of text.slice(drive.length).split(/[\\/]/)) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `${drive}/${parts.join("/")}`;
}

/** Whether a resolved path is the folder or lies in it. */
export function isInside(folder: string, path: string): boolean {
  const base = resolvePath(folder, ".");
  const full = resolvePath(path, ".");
  return full === base || full.startsWith(base === "/" ? "/" : `${base}/`);
}
