// A client of CairnDB over HTTP. What there is to ask, and what is answered, is known by types that are made of the server's OpenAPI document
// (`npm run build`); what is here is how it is reached, and streams, which that document can not describe.

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type Schemas = components["schemas"];
export type { paths };

export interface Server {
  /** Where it is, without a path: `http://localhost:8080`. */
  url: string;
  /** An API token or a JSON Web Token, asked for at each request. */
  token?: string | (() => string);
}

/** Every operation by its path and method: `client.GET("/db/{database}/collections", { params: { path: { database } } })`. */
export function connect(server: Server): Client<paths> {
  const client = createClient<paths>({ baseUrl: server.url, pathSerializer: filled });
  client.use({
    onRequest({ request }) {
      for (const [name, value] of Object.entries(credentials(server))) request.headers.set(name, value);
      return request;
    },
  });
  return client;
}

function credentials({ token }: Server): Record<string, string> {
  const shown = typeof token === "function" ? token() : token;
  return shown === undefined ? {} : { Authorization: `Bearer ${shown}` };
}

/** A name has one form in a path: everything but letters, digits, `-`, `.`, `_` and `~` is percent-encoded. */
export function encoded(name: string): string {
  return encodeURIComponent(name).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

function filled(path: string, names: Record<string, unknown>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(String(names[name])));
}

/** What became of a document. */
export type Change<Doc = unknown> =
  | { kind: "insert" | "update"; id: string; version: number; doc: Doc }
  | { kind: "delete"; id: string }
  | { kind: "truncate" };

/** All that a commit did to what one sees. */
export interface Commit<Doc = unknown> {
  changes: Change<Doc>[];
  /** Goes on behind this commit, as `since`. */
  token: string;
}

export interface Listening {
  filter?: unknown;
  /** The token of the last commit that was heard; without one it begins now. */
  since?: string;
  signal?: AbortSignal;
  /** Is called when it listens, each time that it begins. */
  listening?: () => void;
}

/** The stream has ended for good: its token, the collection or its rules are others now, or `since` is too old (status 410). */
export class Ended extends Error {
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

/** What becomes of a collection's documents, each commit once, in order. When the connection breaks it goes on by itself where it was. */
export async function* changes<Doc = unknown>(
  server: Server,
  { database, collection }: { database: string; collection: string },
  { filter, since, signal, listening }: Listening = {},
): AsyncGenerator<Commit<Doc>> {
  const path = `${server.url}/db/${encoded(database)}/collections/${encoded(collection)}/changes`;
  const query = filter === undefined ? "" : `?filter=${encodeURIComponent(JSON.stringify(filter))}`;
  for (let pause = 0; ; pause = Math.min(pause + 250, 5000)) {
    if (pause > 0) await new Promise((wake) => setTimeout(wake, pause));
    signal?.throwIfAborted();
    try {
      const resumed: Record<string, string> = since === undefined ? {} : { "Last-Event-ID": since };
      const answer = await fetch(path + query, { headers: { ...credentials(server), ...resumed }, signal: signal ?? null });
      if (answer.status >= 400 && answer.status < 500) throw new Ended(await answer.text(), answer.status);
      if (!answer.ok || answer.body === null) continue;
      listening?.();
      // What comes before its token is not whole: it comes again.
      let heard: Change<Doc>[] = [];
      for await (const event of events(answer.body)) {
        if (event.kind === "end" || event.kind === "error") throw new Ended(event.data);
        if (event.data !== "") heard.push({ ...JSON.parse(event.data), kind: event.kind } as Change<Doc>);
        if (event.id === "") continue;
        since = event.id;
        pause = 0;
        if (heard.length > 0) yield { changes: heard, token: since };
        heard = [];
      }
    } catch (error) {
      if (error instanceof Ended || signal?.aborted === true) throw error;
    }
  }
}

/** Server-sent events of a body, as far as they are whole. */
async function* events(body: ReadableStream<Uint8Array>) {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  try {
    for (let text = ""; ; ) {
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
        yield { id: field("id"), kind: field("event"), data: field("data") };
      }
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
