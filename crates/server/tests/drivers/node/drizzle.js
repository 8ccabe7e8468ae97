// Drizzle over node-postgres.
const assert = require('assert')
const { readFileSync } = require('fs')
const { drizzle } = require('drizzle-orm/node-postgres')
const { eq, gt, relations, sql } = require('drizzle-orm')
const t = require('drizzle-orm/pg-core')
const pg = require('pg')
const said = require('./said')

const mood = t.pgEnum('mood', ['sad', 'ok', 'fine'])
const author = t.pgTable('author', { id: t.serial().primaryKey(), name: t.varchar({ length: 40 }).notNull().unique(), mood: mood() })
const book = t.pgTable('book', { id: t.integer().primaryKey().generatedAlwaysAsIdentity(), author: t.integer().references(() => author.id), title: t.text() })
const every = t.pgTable('every', {
  id: t.integer().primaryKey(), flag: t.boolean(), small: t.smallint(), big: t.bigint({ mode: 'bigint' }), real: t.real(), double: t.doublePrecision(),
  number: t.numeric({ precision: 12, scale: 2 }), text: t.text(), day: t.date(), time: t.time(), moment: t.timestamp({ withTimezone: true }),
  uuid: t.uuid(), json: t.jsonb(), ints: t.integer().array(), texts: t.text().array(),
})
const values = {
  flag: true, small: -3, big: 2n ** 62n, real: 1.5, double: -2.25, number: '12345.67', text: "Ä'\\😀", day: '2024-02-29', time: '23:59:59.999999',
  moment: new Date('2026-11-29T07:00:00Z'), uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', json: { a: [1, null, 'x'] }, ints: [1, 2, 3], texts: ['a', '"{,}'],
}
const schema = {
  author, book, every,
  ofAuthor: relations(author, ({ many }) => ({ books: many(book) })),
  ofBook: relations(book, ({ one }) => ({ author: one(author, { fields: [book.author], references: [author.id] }) })),
}
const pool = new pg.Pool({ host: 'localhost', ssl: { ca: readFileSync(process.env.PGSSLROOTCERT) }, max: 2 })
const db = drizzle(pool, { schema, casing: 'snake_case' })

async function login() {
  await db.execute(sql`CREATE TABLE author (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, mood mood)`)
  await db.execute(sql`CREATE TABLE book (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, author int REFERENCES author, title text)`)
  await db.execute(sql`CREATE TABLE every (id int PRIMARY KEY, flag bool, small smallint, big bigint, "real" real, double float8, number numeric(12,2),
    text text, day date, time time, moment timestamptz, uuid uuid, json jsonb, ints int[], texts text[])`)
}

async function types() {
  await db.insert(every).values([{ id: 1, ...values }, { id: 2 }])
  const [one, empty] = await db.select().from(every).orderBy(every.id)
  assert.deepStrictEqual(one, { id: 1, ...values })
  assert(Object.entries(empty).every(([name, value]) => name === 'id' || value === null))
  const found = await db.select({ id: every.id }).from(every).where(eq(every.uuid, values.uuid))
  assert.deepStrictEqual(found, [{ id: 1 }])
}

async function ten() {
  const prepared = db.select({ text: every.text }).from(every).where(eq(every.id, sql.placeholder('id'))).prepare('by_id')
  for (let turn = 0; turn < 10; turn++) assert.deepStrictEqual(await prepared.execute({ id: 1 }), [{ text: values.text }])
}

async function batch() {
  const [{ id }] = await db.insert(author).values({ name: 'Ada', mood: 'fine' }).returning({ id: author.id })
  await db.insert(book).values(Array.from({ length: 50 }, (_, n) => ({ author: id, title: `book ${n}` })))
  await db.insert(author).values({ name: 'Ada', mood: 'sad' }).onConflictDoUpdate({ target: author.name, set: { mood: 'ok' } })
  const found = await db.query.author.findFirst({ with: { books: { where: gt(book.id, 48), columns: { title: true } } } })
  assert.deepStrictEqual([found.mood, found.books.map((of) => of.title)], ['ok', ['book 48', 'book 49']])
}

async function errors() {
  await assert.rejects(db.insert(author).values({ name: 'Ada' }), (error) => error.cause.code === '23505')
}

async function retry() {
  let turns = 0
  for (;;) {
    turns++
    try {
      await db.transaction(async (tx) => {
        const [{ name }] = await tx.select().from(author)
        if (turns === 1) await pool.query("UPDATE author SET name = 'Bea'")
        await tx.update(author).set({ name: `${name} L.` })
      }, { isolationLevel: 'serializable' })
      break
    } catch (error) {
      assert.strictEqual((error.cause ?? error).code, '40001')
    }
  }
  assert.strictEqual(turns, 2)
  assert.strictEqual((await db.select().from(author))[0].name, 'Bea L.')
}

said.run([login, types, ten, batch, errors, retry]).then(() => pool.end())
