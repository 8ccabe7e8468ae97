// node-postgres, and its pool.
const assert = require('assert')
const { readFileSync } = require('fs')
const { pipeline } = require('stream/promises')
const { Readable } = require('stream')
const pg = require('pg')
const copies = require('pg-copy-streams')
const said = require('./said')

const ssl = { ca: readFileSync(process.env.PGSSLROOTCERT) }
const how = { host: 'localhost', ssl, enableChannelBinding: true }
let client

async function login() {
  client = new pg.Client(how)
  await client.connect()
  assert(client.connection.stream.encrypted)
  await assert.rejects(new pg.Client({ ...how, password: 'wrong' }).connect(), { code: '28P01' })
}

async function one(text, values) {
  const { rows } = await client.query({ text, values, rowMode: 'array' })
  return rows[0][0]
}

async function types() {
  for (const [of, text] of said.types) {
    const literal = `${said.quoted(text)}::${of}`
    // As text both ways: what the server writes it reads.
    const { rows } = await client.query({ text: `SELECT ${literal}`, rowMode: 'array', types: { getTypeParser: () => (of) => of } })
    assert(await one(`SELECT ($1::${of})::text = (${literal})::text`, [rows[0][0]]), of)
    assert(await one(`SELECT ($1::${of}) IS NULL`, [null]), of)
    const array = `ARRAY[${literal}, NULL]`
    const values = await client.query({ text: `SELECT ${array}`, rowMode: 'array', types: { getTypeParser: () => (of) => of } })
    assert(await one(`SELECT ($1::${of}[])::text = (${array})::text`, [values.rows[0][0]]), of)
  }
  // As the driver's own values, which it takes in text.
  const text = 'SELECT $1::bool AS a, $2::int4 AS b, $3::float8 AS c, $4::text AS d, $5::bytea AS e, $6::int4[] AS f, $7::timestamptz AS g'
  const values = [true, -7, 1.5, 'Ä', Buffer.from([0, 255]), [1, null, 3], new Date('2026-11-29T07:00:00Z')]
  const { rows } = await client.query({ text, values, rowMode: 'array' })
  assert.deepStrictEqual(rows[0], values)
  assert.deepStrictEqual(await one('SELECT $1::jsonb', [{ a: [1, null] }]), { a: [1, null] })
}

async function ten() {
  await client.query('CREATE TABLE ten (id int PRIMARY KEY, name text)')
  for (let id = 0; id < 10; id++) {
    await client.query({ name: 'insert', text: 'INSERT INTO ten VALUES ($1, $2)', values: [id, `name ${id}`] })
    const { rows } = await client.query({ name: 'select', text: 'SELECT name FROM ten WHERE id = $1', values: [id] })
    assert.strictEqual(rows[0].name, `name ${id}`)
  }
}

async function batch() {
  const found = await client.query('SELECT 1 AS a; SELECT 2 AS b; SELECT 3 AS c')
  assert.deepStrictEqual(found.map((of) => of.rows[0]), [{ a: 1 }, { b: 2 }, { c: 3 }])
  const many = await Promise.all(Array.from({ length: 100 }, (_, id) => client.query('SELECT $1::int AS id', [id])))
  assert.deepStrictEqual(many.map((of) => of.rows[0].id), Array.from({ length: 100 }, (_, id) => id))
}

async function copy() {
  await client.query('CREATE TABLE copied (id int, name text)')
  const lines = Array.from({ length: 1000 }, (_, id) => `${id}\t${id % 7 ? `n ${id}` : '\\N'}\n`)
  await pipeline(Readable.from(lines), client.query(copies.from('COPY copied FROM STDIN')))
  let out = ''
  for await (const part of client.query(copies.to('COPY (SELECT * FROM copied ORDER BY id) TO STDOUT'))) out += part
  assert.strictEqual(out, lines.join(''))
}

async function cancel() {
  // The driver's own cancelling knows no TLS: a limit of time stands for it.
  await client.query("SET statement_timeout = '200ms'")
  await assert.rejects(client.query('SELECT count(*) FROM generate_series(1, 100000000000)'), { code: '57014' })
  await client.query('RESET statement_timeout')
}

async function errors() {
  await client.query('CREATE TABLE failing (id int CONSTRAINT one_only PRIMARY KEY); INSERT INTO failing VALUES (1)')
  await assert.rejects(client.query('INSERT INTO failing VALUES ($1)', [1]), {
    code: '23505', schema: 'public', table: 'failing', constraint: 'one_only', detail: 'Key (id)=(1) already exists.', severity: 'ERROR',
  })
  await assert.rejects(client.query('SELECT 1 + nope'), { code: '42703', position: '12' })
}

async function retry() {
  await client.query('CREATE TABLE account (id int PRIMARY KEY, n int); INSERT INTO account VALUES (1, 0)')
  const other = new pg.Client(how)
  await other.connect()
  let turns = 0
  for (;;) {
    turns++
    try {
      await client.query('BEGIN')
      const { rows } = await client.query('SELECT n FROM account WHERE id = 1')
      if (turns === 1) await other.query('UPDATE account SET n = n + 10 WHERE id = 1')
      await client.query('UPDATE account SET n = $1 WHERE id = 1', [rows[0].n + 1])
      await client.query('COMMIT')
      break
    } catch (error) {
      assert.strictEqual(error.code, '40001')
      await client.query('ROLLBACK')
    }
  }
  assert.strictEqual(turns, 2)
  assert.strictEqual(await one('SELECT n FROM account'), 11)
  await other.end()
}

async function listen() {
  await client.query('LISTEN news')
  const other = new pg.Client(how)
  await other.connect()
  const hears = new Promise((done) => client.once('notification', done))
  // (What is told may come before the answer to who told it: the connection ends after both.)
  await other.query("SELECT pg_notify('news', 'at last')")
  const heard = await hears
  assert.deepStrictEqual([heard.channel, heard.payload], ['news', 'at last'])
  await other.end()
}

async function pool() {
  const pool = new pg.Pool({ ...how, max: 1 })
  const first = await pool.connect()
  await first.query("SET work_mem = '1MB'")
  await first.query('DISCARD ALL')
  first.release()
  const { rows } = await pool.query('SHOW work_mem')
  assert.notStrictEqual(rows[0].work_mem, '1MB')
  await pool.end()
}

said.run([login, types, ten, batch, copy, cancel, errors, retry, listen, pool]).then(() => client.end())
