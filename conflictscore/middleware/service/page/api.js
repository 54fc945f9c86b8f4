/** Calls the service's API: for runs as streams of events, finished runs, lists, and reviews. */

const KEY = "conflictscore.key";
const LONGEST_WAIT_S = 10;

/** The key of this tab; an empty string if the tab has no key. */
export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  /** @param {string} value */
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** An error that the service reported, or an error of the connection to it. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {string} code The service's error code, or a code of this page.
   * @param {string} [wait] How many seconds the service asks the reader to wait.
   */
  constructor(message, code, wait = "") {
    super(message);
    this.code = code;
    this.wait = wait;
  }
}

/**
 * Ask a question, and get an event for every step.
 * @param {{question: string, history: {role: string, content: string}[], temperature?: number}} asked
 * @param {AbortSignal} signal Stops the run, here and in the service.
 * @yields {{event: string, data: any}}
 */
export async function* run(asked, signal) {
  const response = await send("v1/runs?markup=true", { ...posting(asked), signal });
  yield* whole(eventsOf(response));
}

/**
 * A finished run. If it is still running, wait for it.
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function finished(id, signal) {
  for (;;) {
    const response = await send(`v1/runs/${encodeURIComponent(id)}?markup=true`, { signal });
    if (response.status !== 202) return await response.json();
    const seconds = Number(response.headers.get("retry-after")) || 1;
    await pause(Math.min(seconds, LONGEST_WAIT_S), signal);
  }
}

/**
 * The JSON at an address.
 * @param {string} path
 * @param {Record<string, string>} [query]
 */
export async function read(path, query = {}) {
  return (await send(`${path}?${new URLSearchParams(query)}`)).json();
}

/**
 * The file at an address, with its name.
 * @param {string} path
 * @param {Record<string, string>} query
 */
export async function fileOf(path, query) {
  const response = await send(`${path}?${new URLSearchParams(query)}`);
  const named = /filename="([\w.-]+)"/.exec(response.headers.get("content-disposition") ?? "");
  return { name: named?.[1] ?? "runs", content: await response.blob() };
}

/**
 * Store a review of a run.
 * @param {string} id
 * @param {{reviewer: string, verdict: string, decided_by: number[], comment: string}} said
 */
export async function review(id, said) {
  await send(`v1/runs/${encodeURIComponent(id)}/reviews`, posting(said));
}

/**
 * All reviews of a run, fetched page by page.
 * @param {string} id
 * @returns {Promise<{verdicts: string[], reviews: Record<string, any>, kept_in: string}>}
 */
export async function reviewsOf(id) {
  const place = `v1/runs/${encodeURIComponent(id)}/reviews`;
  const found = await read(place);
  for (let page = 2, last = found; last.has_more; page++) {
    last = await read(place, { page: String(page) });
    Object.assign(found.reviews, last.reviews);
  }
  return found;
}

/** @param {unknown} body */
function posting(body) {
  const headers = { "content-type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

/**
 * @param {string} path
 * @param {RequestInit} [request]
 */
async function send(path, request = {}) {
  const headers = new Headers(request.headers);
  if (key.get()) headers.set("authorization", `Bearer ${key.get()}`);
  let response;
  try {
    response = await fetch(path, { ...request, headers, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new Refusal("The service cannot be reached.", "unreachable");
  }
  if (!response.ok) throw await refusalIn(response);
  return response;
}

/** @param {Response} response */
async function refusalIn(response) {
  const wait = response.headers.get("retry-after") ?? "";
  const body = await response.json().catch(() => null);
  const error = body?.error;
  const message = error?.message ?? `The service answered with HTTP ${response.status}.`;
  const code = response.status === 401 ? "invalid_api_key" : (error?.code ?? "http");
  return new Refusal(message, code, wait);
}

/**
 * Pass on the events of a stream. Throws an error if the stream ends before the run does.
 * @param {AsyncIterable<{event: string, data: any}>} events
 */
async function* whole(events) {
  for await (const said of events) {
    if (said.event === "error") {
      const error = said.data.error ?? {};
      throw new Refusal(error.message ?? "The run failed.", error.code ?? "failed");
    }
    yield said;
    if (said.event === "run") return;
  }
  throw new Refusal("The connection ended before the answer arrived.", "cut_off");
}

/**
 * The server-sent events of a response. Comments and unknown fields are skipped.
 * @param {Response} response
 */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(broken);
    if (done) return;
    const blocks = (rest + value.replaceAll("\r", "")).split("\n\n");
    rest = blocks.pop() ?? "";
    yield* blocks.map(eventIn).filter((event) => event !== null);
  }
}

/** @param {Error} error @returns {never} */
function broken(error) {
  if (error.name === "AbortError") throw error;
  throw new Refusal("The connection broke before the answer arrived.", "cut_off");
}

/** @param {string} block */
function eventIn(block) {
  let event = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  return data ? { event, data: JSON.parse(data) } : null;
}

/**
 * @param {number} seconds
 * @param {AbortSignal} signal
 */
function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
