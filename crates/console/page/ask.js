// What the page asks the server for. The cookie of the session goes along by itself, the session's other secret in a header.

import { kept } from "./dom.js";

export class Refused extends Error {
  constructor(problem) {
    super(problem.message ?? "the server did not answer");
    this.problem = problem;
  }
}

let leave = () => {};
export const onLeave = (then) => (leave = then);

// Asks with a body that is a text already, and whatever headers; gives the text of the answer, which is refused where it is no good one.
export async function send(method, path, body, headers = {}) {
  const all = { "X-Cairn-Csrf": kept.get("csrf", ""), ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers };
  let answer, text;
  try {
    answer = await fetch(path, { method, headers: all, body });
    text = await answer.text();
  } catch {
    throw new Refused({ message: "the server can not be reached", gone: true });
  }
  if (answer.ok) return { text, etag: answer.headers.get("etag"), isJson: (answer.headers.get("content-type") ?? "").includes("json") };
  if (answer.status === 401 && path !== "/console/login") leave();
  throw new Refused(problemOf(text));
}

function problemOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

// The same of what is JSON there and back; other texts are { text }.
export async function ask(method, path, body) {
  const { text, isJson } = await send(method, path, body === undefined ? undefined : JSON.stringify(body));
  return isJson ? JSON.parse(text) : { text };
}

// The rows of a statement.
export const rows = async (name, sql, ...params) => (await ask("POST", database(name) + "/sql", { sql, params })).rows;

// A name as a step of a path.
export const step = (name) => encodeURIComponent(name).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

export const database = (name) => "/db/" + step(name);

// Asks for events, and has each told as it comes (its data, and the text of that), until they end or the signal says so.
export async function stream(path, body, signal, told) {
  const headers = { "X-Cairn-Csrf": kept.get("csrf", ""), "Content-Type": "application/json" };
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  if (!answer.ok) {
    if (answer.status === 401) leave();
    throw new Refused(await answer.json().catch(() => ({})));
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.event) told(fields.event, JSON.parse(fields.data), fields.data);
    }
  }
}
