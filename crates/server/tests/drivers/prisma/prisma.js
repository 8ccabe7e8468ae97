// Prisma by its driver adapter over node-postgres.
const assert = require('assert')
const { readFileSync } = require('fs')
const { join } = require('path')
const { PrismaPg } = require('@prisma/adapter-pg')
const { PrismaClient, Prisma } = require(join(process.env.PRISMA_CLIENT, 'index.js'))
const said = require(join(__dirname, '..', 'node', 'said.js'))

const how = { host: 'localhost', ssl: { ca: readFileSync(process.env.PGSSLROOTCERT) }, max: 2 }
const db = new PrismaClient({ adapter: new PrismaPg(how) })
const values = {
  flag: true, small: -3, big: 2n ** 62n, real: 1.5, double: -2.25, number: new Prisma.Decimal('12345.67'), text: "Ä'\\😀",
  day: new Date('2024-02-29'), moment: new Date('2026-11-29T07:00:00.123Z'), uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  json: { a: [1, null, 'x'] }, bytes: Uint8Array.from([0, 255]), ints: [1, 2, 3], texts: ['a', '"{,}'],
}

// The tables as `prisma migrate diff` writes them, whose engine is no part of the package.
async function login() {
  await db.$executeRawUnsafe('CREATE TABLE "author" ("id" SERIAL NOT NULL, "name" VARCHAR(40) NOT NULL, "mood" "mood", CONSTRAINT "author_pkey" PRIMARY KEY ("id"))')
  await db.$executeRawUnsafe('CREATE UNIQUE INDEX "author_name_key" ON "author"("name")')
  await db.$executeRawUnsafe('CREATE TABLE "book" ("id" SERIAL NOT NULL, "authorId" INTEGER NOT NULL, "title" TEXT NOT NULL, CONSTRAINT "book_pkey" PRIMARY KEY ("id"))')
  await db.$executeRawUnsafe('ALTER TABLE "book" ADD CONSTRAINT "book_authorId_fkey" FOREIGN KEY ("authorId") REFERENCES "author"("id") ON DELETE RESTRICT ON UPDATE CASCADE')
  await db.$executeRawUnsafe(`CREATE TABLE "every" ("id" INTEGER NOT NULL, "flag" BOOLEAN, "small" SMALLINT, "big" BIGINT, "real" REAL, "double" DOUBLE PRECISION,
    "number" DECIMAL(12,2), "text" TEXT, "day" DATE, "moment" TIMESTAMPTZ(6), "uuid" UUID, "json" JSONB, "bytes" BYTEA, "ints" INTEGER[], "texts" TEXT[],
    CONSTRAINT "every_pkey" PRIMARY KEY ("id"))`)
}

async function types() {
  await db.every.createMany({ data: [{ id: 1, ...values }, { id: 2 }] })
  const [one, empty] = await db.every.findMany({ orderBy: { id: 'asc' } })
  assert.deepStrictEqual(one, { id: 1, ...values })
  for (const [name, value] of Object.entries(empty)) {
    if (['ints', 'texts'].includes(name)) assert.deepStrictEqual(value, [])
    else if (name !== 'id') assert.strictEqual(value, null, name)
  }
  const where = { uuid: values.uuid, big: { gte: 2n ** 62n }, ints: { has: 2 }, json: { path: ['a', '2'], equals: 'x' }, text: { contains: '😀' } }
  assert.strictEqual(await db.every.count({ where }), 1)
  const [{ sum }] = await db.$queryRaw`SELECT sum(${1.5}::float8 + "small") AS sum FROM "every"`
  assert.strictEqual(sum, -1.5)
}

async function ten() {
  for (let turn = 0; turn < 10; turn++) assert.strictEqual((await db.every.findUnique({ where: { id: 1 } })).text, values.text)
}

async function batch() {
  const titles = Array.from({ length: 50 }, (_, n) => ({ title: `book ${n}` }))
  await db.author.create({ data: { name: 'Ada', mood: 'fine', books: { create: titles } } })
  await db.author.upsert({ where: { name: 'Ada' }, create: { name: 'Ada', mood: 'sad' }, update: { mood: 'ok' } })
  const found = await db.author.findFirst({ include: { books: { where: { id: { gt: 48 } }, orderBy: { id: 'asc' }, select: { title: true } } } })
  assert.deepStrictEqual([found.mood, found.books], ['ok', [{ title: 'book 48' }, { title: 'book 49' }]])
  const [books, [most]] = await db.$transaction([
    db.book.count({ where: { author: { name: { startsWith: 'A', mode: 'insensitive' } } } }),
    db.book.groupBy({ by: ['authorId'], _count: true, _max: { title: true }, orderBy: { authorId: 'asc' } }),
  ])
  assert.deepStrictEqual([books, most._count, most._max.title], [50, 50, 'book 9'])
}

async function errors() {
  await assert.rejects(db.author.create({ data: { name: 'Ada' } }), { code: 'P2002' })
  await assert.rejects(db.book.create({ data: { authorId: 99, title: '' } }), { code: 'P2003' })
}

async function retry() {
  let turns = 0
  for (;;) {
    turns++
    try {
      await db.$transaction(async (tx) => {
        const { name } = await tx.author.findFirst()
        if (turns === 1) await db.author.updateMany({ data: { name: 'Bea' } })
        await tx.author.updateMany({ data: { name: `${name} L.` } })
      }, { isolationLevel: 'Serializable' })
      break
    } catch (error) {
      // P2034 where a statement tells it; what COMMIT tells comes as the driver's own.
      assert.strictEqual(error.code === 'P2034' ? '40001' : error.cause?.originalCode, '40001')
    }
  }
  assert.strictEqual(turns, 2)
  assert.strictEqual((await db.author.findFirst()).name, 'Bea L.')
}

said.run([login, types, ten, batch, errors, retry]).then(() => db.$disconnect())
