// The client against a server: CAIRN_URL, and CAIRN_TOKEN, which may do everything in `shop`. Says `ok` of each thing that holds.

import assert from "node:assert/strict";
import net from "node:net";

const { changes, connect, Ended } = await import(process.env.CAIRN_CLIENT);
const server = { url: process.env.CAIRN_URL, token: () => process.env.CAIRN_TOKEN };
const client = connect(server);
const of = { database: "shop", collection: "notes" };
const notes = { params: { path: of } };
const note = (id) => ({ params: { path: { ...of, id } } });
// What hangs fails.
setTimeout(() => process.exit(1), 60_000).unref();
const COLLECTION = "/db/{database}/collections/{collection}";

async function documents() {
  const made = await client.PUT(COLLECTION, { ...notes, body: {} });
  assert.deepEqual([made.response.status, made.data], [201, { name: "notes", ids: "text" }]);
  // Each name has one form in a path, whatever it is made of.
  for (const id of ["a", "it's (odd)*!", "ä/ö %2F", "..x"]) {
    const put = await client.PUT(`${COLLECTION}/documents/{id}`, { ...note(id), body: { n: 1.5, by: "a" } });
    assert.deepEqual([put.response.status, put.data.id], [201, id]);
    const found = await client.GET(`${COLLECTION}/documents/{id}`, note(id));
    assert.deepEqual(found.data, { n: 1.5, by: "a" });
  }
  const page = await client.POST(`${COLLECTION}/query`, { ...notes, body: { filter: { n: 1.5 }, count: true, expand: { by: "notes" } } });
  assert.equal(page.data.count, 4);
  assert.equal(page.data.documents[0].expanded.by.id, "a");
  const groups = await client.POST(`${COLLECTION}/aggregate`, { ...notes, body: { group: { by: "by" }, fields: { n: { $sum: "n" } } } });
  assert.deepEqual(groups.data.groups, [{ by: "a", n: 6 }]);
}

async function errors() {
  const none = await client.GET(`${COLLECTION}/documents/{id}`, note("none"));
  assert.deepEqual([none.data, none.error.status, none.error.sqlstate], [undefined, 404, "P0002"]);
  const refused = await connect({ url: server.url, token: "cairn_none" }).GET("/db");
  assert.equal(refused.error.status, 401);
}

async function batches() {
  const operations = [{ op: "insert", collection: "notes", id: "b", doc: {} }, { op: "delete", collection: "notes", id: "b" }];
  const done = await client.POST("/db/{database}/batch", { params: { path: { database: "shop" } }, body: { operations } });
  assert.deepEqual([done.data.results[0].id, done.data.results[1].deleted], ["b", true]);
}

/** Writes as soon as somebody listens, and takes as many commits as it has written. */
async function heard(at, more, writes) {
  const told = [];
  let begun;
  const listening = new Promise((wake) => (begun = wake));
  const writing = listening.then(async () => {
    for (const write of writes) await write();
  });
  for await (const commit of changes(at, of, { ...more, listening: begun })) {
    told.push(commit);
    if (told.length === writes.length) break;
  }
  await writing;
  return told;
}

const put = (id, body) => () => client.PUT(`${COLLECTION}/documents/{id}`, { ...note(id), body });

async function stream() {
  const remove = () => client.DELETE(`${COLLECTION}/documents/{id}`, note("s"));
  const told = await heard(server, {}, [put("s", { n: 1 }), put("s", { n: 2 }), remove]);
  assert.deepEqual(told.map(({ changes: [change] }) => [change.kind, change.id, change.doc?.n]), [["insert", "s", 1], ["update", "s", 2], ["delete", "s", undefined]]);
  // Behind a token, and with a filter.
  const again = await heard(server, { since: told[0].token }, [() => {}, () => {}]);
  assert.deepEqual(again.map(({ changes: [change] }) => change.kind), ["update", "delete"]);
  const filtered = await heard(server, { filter: { n: { $gt: 5 } } }, [async () => { await put("t", { n: 1 })(); await put("t", { n: 6 })(); }]);
  assert.deepEqual(filtered[0].changes.map(({ kind }) => kind), ["insert"]);
}

async function resumed() {
  // Every connection is cut after a while.
  const { hostname, port } = new URL(server.url);
  const proxy = net.createServer((socket) => {
    const to = net.connect(Number(port), hostname);
    const cut = () => [socket, to].forEach((end) => end.destroy());
    [socket, to].forEach((end) => end.on("error", cut).on("close", cut));
    socket.pipe(to).pipe(socket);
    setTimeout(cut, 120).unref();
  });
  await new Promise((wake) => proxy.listen(0, "127.0.0.1", wake));
  const at = { ...server, url: `http://127.0.0.1:${proxy.address().port}` };
  const wait = (ms) => new Promise((wake) => setTimeout(wake, ms));
  const writes = Array.from({ length: 60 }, (_, n) => async () => { await put(`r${n}`, { n })(); await wait(10); });
  const since = (await heard(server, {}, [put("first", {})]))[0].token;
  const told = await heard(at, { since }, writes);
  assert.deepEqual(told.flatMap(({ changes }) => changes.map(({ id }) => id)), writes.map((_, n) => `r${n}`));
  proxy.close();
}

async function ended() {
  const listen = async (at, more) => { for await (const _ of changes(at, of, more)); };
  await assert.rejects(listen(server, { since: "none" }), (error) => error instanceof Ended && error.status === 400);
  await assert.rejects(listen({ url: server.url }, {}), (error) => error instanceof Ended && error.status === 401);
  await assert.rejects(listen(server, { signal: AbortSignal.timeout(50) }));
  const dropped = listen(server, { listening: () => client.DELETE(COLLECTION, notes) });
  await assert.rejects(dropped, (error) => error instanceof Ended && error.message.includes("dropped"));
}

for (const item of [documents, errors, batches, stream, resumed, ended]) {
  await item();
  console.log("ok", item.name);
}
process.exit(0);
