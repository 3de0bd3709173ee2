/** Functions on paths as text, without a file system. Both separators count, since a tool may run on any platform. */

/** Why a text is not an acceptable path, whatever the allowed folders are; undefined if it is. */
export function pathProblem(path: string): string | undefined {
  if (path === "" || path.length > 4_096) return "the path is empty or longer than 4,096 characters";
  // eslint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(path)) return "the path contains control characters";
  // `file:` makes a URL with any number of slashes, and URL parsers skip leading spaces. A single letter is a drive.
  if (/^\s*(?:file:|[a-z][a-z0-9+.-]+:[\\/])/i.test(path))
    return "the path is a URL; only file paths are allowed";
  if (path.startsWith("~")) return "the path starts with ~ (a home folder)";
  if (/^[\\/]{2}/.test(path)) return "the path is on another machine or device";
  if (/%(?:2e|2f|5c|00)/i.test(path)) return "the path contains encoded dots or separators";
  if (path.split(/[\\/]/).some((part) => part === "..")) return "the path contains '..'";
  return undefined;
}

/** The path relative to the folder, with `.` and `..` resolved. An absolute path is kept. */
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

/** Whether a path is the folder, or inside of it. */
export function isInside(folder: string, path: string): boolean {
  const base = resolvePath(folder, ".");
  const full = resolvePath(path, ".");
  return full === base || full.startsWith(base === "/" ? "/" : `${base}/`);
}
