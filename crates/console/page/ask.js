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

export const database = (name) => "/db/" + encodeURIComponent(name).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
