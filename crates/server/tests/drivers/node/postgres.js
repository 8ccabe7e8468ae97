// postgres.js, which pipelines and is a pool.
const assert = require('assert')
const { readFileSync } = require('fs')
const { pipeline } = require('stream/promises')
const { Readable } = require('stream')
const postgres = require('postgres')
const said = require('./said')

const how = {
  host: 'localhost', port: +process.env.PGPORT, user: process.env.PGUSER, password: process.env.PGPASSWORD,
  database: process.env.PGDATABASE, ssl: { ca: readFileSync(process.env.PGSSLROOTCERT) }, onnotice: () => {},
}
const sql = postgres({ ...how, max: 1 })
const other = postgres({ ...how, max: 1 })

async function login() {
  assert.deepStrictEqual([...(await sql`SELECT current_user IS NOT NULL AS known`)], [{ known: true }])
  const wrong = postgres({ ...how, password: 'wrong', max: 1 })
  await assert.rejects(wrong`SELECT 1`, { code: '28P01' })
  await wrong.end()
}

async function types() {
  for (const [of, text] of said.types) {
    const literal = `${said.quoted(text)}::${of}`
    const [{ written }] = await sql.unsafe(`SELECT (${literal})::text AS written`)
    const [{ same, none }] = await sql.unsafe(`SELECT ($1::text::${of})::text = (${literal})::text AS same, ($2::${of}) IS NULL AS none`, [written, null])
    assert(same && none, of)
  }
  // (It has no NULL in arrays.)
  const date = new Date('2026-11-29T07:00:00Z')
  const [row] = await sql`SELECT ${true}::bool AS a, ${-7}::int4 AS b, ${1.5}::float8 AS c, ${'Ä'}::text AS d,
    ${Buffer.from([0, 255])}::bytea AS e, ${[1, 2, 3]}::int4[] AS f, ${date}::timestamptz AS g, ${sql.json({ a: [1, null] })}::jsonb AS h`
  assert.deepStrictEqual({ ...row }, { a: true, b: -7, c: 1.5, d: 'Ä', e: Buffer.from([0, 255]), f: [1, 2, 3], g: date, h: { a: [1, null] } })
}

async function ten() {
  await sql`CREATE TABLE ten (id int PRIMARY KEY, name text)`
  for (let id = 0; id < 10; id++) {
    await sql`INSERT INTO ten ${sql({ id, name: `name ${id}` })}`
    assert.strictEqual((await sql`SELECT name FROM ten WHERE id = ${id}`)[0].name, `name ${id}`)
  }
}

async function batch() {
  const many = await Promise.all(Array.from({ length: 100 }, (_, id) => sql`SELECT ${id}::int AS id`))
  assert.deepStrictEqual(many.map(([row]) => row.id), Array.from({ length: 100 }, (_, id) => id))
  const done = await sql.begin((sql) => [sql`INSERT INTO ten VALUES (100)`, sql`SELECT count(*)::int AS n FROM ten`])
  assert.strictEqual(done[1][0].n, 11)
  const seen = []
  await sql`SELECT id FROM ten ORDER BY id`.cursor(3, (rows) => seen.push(...rows.map((row) => row.id)))
  assert.strictEqual(seen.length, 11)
}

async function copy() {
  await sql`CREATE TABLE copied (id int, name text)`
  const lines = Array.from({ length: 1000 }, (_, id) => `${id}\t${id % 7 ? `n ${id}` : '\\N'}\n`)
  await pipeline(Readable.from(lines), await sql`COPY copied FROM STDIN`.writable())
  let out = ''
  for await (const part of await sql`COPY (SELECT * FROM copied ORDER BY id) TO STDOUT`.readable()) out += part
  assert.strictEqual(out, lines.join(''))
}

async function cancel() {
  const query = sql`SELECT count(*) FROM generate_series(1, 100000000000)`.execute()
  setTimeout(() => query.cancel(), 1000)
  await assert.rejects(query, { code: '57014' })
}

async function errors() {
  await sql`CREATE TABLE failing (id int CONSTRAINT one_only PRIMARY KEY)`
  await sql`INSERT INTO failing VALUES (1)`
  await assert.rejects(sql`INSERT INTO failing VALUES (${1})`, {
    code: '23505', schema_name: 'public', table_name: 'failing', constraint_name: 'one_only', detail: 'Key (id)=(1) already exists.',
  })
  await assert.rejects(sql`SELECT 1 + nope`, { code: '42703', position: '12' })
}

async function retry() {
  await sql`CREATE TABLE account (id int PRIMARY KEY, n int)`
  await sql`INSERT INTO account VALUES (1, 0)`
  let turns = 0
  for (;;) {
    turns++
    try {
      await sql.begin(async (sql) => {
        const [{ n }] = await sql`SELECT n FROM account WHERE id = 1`
        if (turns === 1) await other`UPDATE account SET n = n + 10 WHERE id = 1`
        await sql`UPDATE account SET n = ${n + 1} WHERE id = 1`
      })
      break
    } catch (error) {
      assert.strictEqual(error.code, '40001')
    }
  }
  assert.strictEqual(turns, 2)
  assert.strictEqual((await sql`SELECT n FROM account`)[0].n, 11)
}

async function listen() {
  let hear
  const heard = new Promise((done) => { hear = done })
  await sql.listen('news', hear)
  await other.notify('news', 'at last')
  assert.strictEqual(await heard, 'at last')
}

async function pool() {
  const reserved = await other.reserve()
  await reserved`SET work_mem = '1MB'`
  await reserved`DISCARD ALL`
  reserved.release()
  assert.notStrictEqual((await other`SHOW work_mem`)[0].work_mem, '1MB')
}

said.run([login, types, ten, batch, copy, cancel, errors, retry, listen, pool]).then(() => Promise.all([sql.end(), other.end()]))
