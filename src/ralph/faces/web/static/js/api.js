// Asks the server, in the words of /api/v1. What it refuses is an ApiError with the server's own words.

const BASE = "/api/v1/";
const SECRET_KEY = "ralph-csrf";
const writeHeaders = { "Content-Type": "application/json" };
let secret = "";
let repository = ""; // empty: where the server was started

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail.message || `the server answered ${status}`);
    this.status = status;
    this.code = detail.code ?? "";
    this.hint = detail.hint ?? "";
  }
}

export function chooseRepository(key) {
  repository = key;
}

export function buildUrl(path, query = {}) {
  const url = new URL(BASE + path, location.origin);
  const words = { repository, ...query };
  for (const [name, value] of Object.entries(words)) {
    if (value !== "" && value !== undefined && value !== null) url.searchParams.set(name, value);
  }
  return url;
}

/** The login link hands the page a secret behind the `#`, which no server and no other port ever sees. */
export function takeSecret() {
  const found = /^#csrf=(.+)$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname);
  secret = decodeURIComponent(found[1]);
  try {
    localStorage.setItem(SECRET_KEY, secret);
  } catch {
    // storage is switched off: it lasts as long as the page
  }
}

export async function openSession() {
  const session = await get("session");
  writeHeaders[session.csrf_header] = secret || readSecret();
  return session;
}

function readSecret() {
  try {
    return localStorage.getItem(SECRET_KEY) ?? "";
  } catch {
    return "";
  }
}

export function get(path, query, signal) {
  return ask(buildUrl(path, query), { signal });
}

export function post(path, body = {}) {
  return ask(buildUrl(path), { method: "POST", headers: writeHeaders, body: JSON.stringify(body) });
}

export function patch(path, body) {
  return ask(buildUrl(path), { method: "PATCH", headers: writeHeaders, body: JSON.stringify(body) });
}

/** One part of a path, whatever it holds. */
export function part(text) {
  return encodeURIComponent(text);
}

async function ask(url, options) {
  let answer;
  try {
    answer = await fetch(url, { ...options, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "the server does not answer", hint: "start it again: ralph web", code: "offline" });
  }
  const body = await readJson(answer);
  if (!answer.ok) throw new ApiError(answer.status, body?.error ?? {});
  return body;
}

async function readJson(answer) {
  try {
    return await answer.json();
  } catch {
    return null; // an error of another program, such as a proxy
  }
}
