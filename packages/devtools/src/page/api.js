/**
 * @typedef {import("../answers.ts").ListAnswer} ListAnswer
 * @typedef {import("../answers.ts").RunAnswer} RunAnswer
 * @typedef {import("../answers.ts").EventsAnswer} EventsAnswer
 */

// The key is in the address that was printed. It is kept for this tab, and taken out of the address, where others would see it.
const given = new URLSearchParams(location.hash.slice(1));
const key = given.get("key") ?? sessionStorage.getItem("key") ?? "";
if (given.has("key")) {
  sessionStorage.setItem("key", key);
  given.delete("key");
  history.replaceState(null, "", `#${given}`);
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<unknown>}
 */
async function ask(path, body) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const sent = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const { isOk, answer } = await answerTo(path, sent).catch(() => {
    throw new Error(body === undefined ? GONE : LOST);
  });
  if (!isOk) throw new Error(answer.error);
  return answer;
}

const GONE = "The server does not answer. Trying again …";
// The same answer counts once.
const LOST = "The server did not answer. What is still shown can be answered again.";

/**
 * @param {string} path
 * @param {RequestInit} sent
 */
async function answerTo(path, sent) {
  const response = await fetch(path, sent);
  const answer = /** @type {{ readonly error?: string }} */ (await response.json());
  return { isOk: response.ok, answer };
}

/** @param {string} runId */
const pathOf = (runId) => `/api/runs/${encodeURIComponent(runId)}`;

/**
 * @param {number} limit
 * @param {string | null} runId
 */
export async function listRuns(limit, runId) {
  const query = new URLSearchParams({ limit: String(limit), ...(runId !== null && { run: runId }) });
  return /** @type {ListAnswer} */ (await ask(`/api/runs?${query}`));
}

/** @param {string} runId */
export async function showRun(runId) {
  return /** @type {RunAnswer} */ (await ask(pathOf(runId)));
}

/**
 * @param {string} runId
 * @param {number} after
 */
export async function showEvents(runId, after) {
  return /** @type {EventsAnswer} */ (await ask(`${pathOf(runId)}/events?after=${after}`));
}

/**
 * @param {string} runId
 * @param {import("@ravi/kernel").PendingWait} wait
 * @param {unknown} value
 */
export async function answerWait(runId, { name, execId, since }, value) {
  await ask(`${pathOf(runId)}/answers`, { name, execId, since, value });
}

/**
 * @param {string} runId
 * @param {string} reason
 */
export async function cancelRun(runId, reason) {
  await ask(`${pathOf(runId)}/cancel`, { reason });
}
