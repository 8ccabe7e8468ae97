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

export async function ask(method, path, body) {
  const headers = { "X-Cairn-Csrf": kept.get("csrf", "") };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Refused({ message: "the server can not be reached", gone: true });
  }
  if (answer.status === 204) return null;
  const kind = answer.headers.get("content-type") ?? "";
  const said = kind.includes("json") ? await answer.json().catch(() => ({})) : { text: await answer.text() };
  if (answer.ok) return said;
  if (answer.status === 401 && path !== "/console/login") leave();
  throw new Refused(said);
}

// The rows of a statement.
export const rows = async (name, sql, ...params) => (await ask("POST", database(name) + "/sql", { sql, params })).rows;

export const database = (name) => "/db/" + encodeURIComponent(name).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

// Asks for events, and has each told as it comes, until they end or the signal says so.
export async function stream(path, body, signal, told) {
  const headers = { "X-Cairn-Csrf": kept.get("csrf", ""), "Content-Type": "application/json" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
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
      if (fields.event) told(fields.event, JSON.parse(fields.data));
    }
  }
}
