// Two users of examples/notes, as its page has them: APP and CAIRN are where it is, NOTES what the page does. Says `ok` of each thing that holds.
import assert from 'node:assert/strict'

const { APP, CAIRN, NOTES } = process.env
const { Notes } = await import(NOTES)
setTimeout(() => process.exit(1), 60_000).unref()

const login = (name, password) => fetch(`${APP}/login`, { method: 'POST', body: JSON.stringify({ name, password }) })
const until = async (what) => {
  while (!what()) await new Promise((wake) => setTimeout(wake, 10))
}
const texts = (notes) => [...notes.all.values()].map(({ text }) => text)
let changes = 0

async function enter(name) {
  const notes = new Notes(CAIRN, { ...(await (await login(name, 'secret')).json()), name })
  let begun
  const first = new Promise((wake) => (begun = wake))
  notes.listen(() => (changes++, begun())).catch(() => undefined)
  await first
  return notes
}

const page = await (await fetch(APP)).text()
assert.ok(page.includes(CAIRN) && !page.includes('{{'))
assert.equal(await (await fetch(`${APP}/notes.js`)).text().then((text) => text.includes('class Notes')), true)
console.log('ok page')

const [ada, bob] = [await enter('ada'), await enter('bob')]
assert.equal((await login('ada', 'other')).status, 401)
assert.equal((await login('../notes', 'secret')).status, 401)
assert.equal((await fetch(`${APP}/login`, { method: 'POST', body: '{' })).status, 400)
// At once, and as the first: one password is the account's.
const raced = await Promise.all(['p', 'q', 'r', 's'].map(async (password) => (await login('eve', password)).status))
assert.deepEqual(raced.sort(), [200, 401, 401, 401])
console.log('ok accounts')

await ada.add('tides')
await until(() => texts(ada).length === 1)
const [id] = ada.all.keys()
assert.deepEqual(texts(bob), [])
await ada.share(id, true)
await until(() => texts(bob).length === 1)
await assert.rejects(bob.share(id, false))
await assert.rejects(bob.remove(id))
await ada.share(id, false)
await until(() => texts(bob).length === 0)
await ada.remove(id)
await until(() => texts(ada).length === 0)
console.log('ok live')

// Nobody's claims reach accounts, nor make notes of others.
await assert.rejects(bob.ask('POST', '/documents', { owner: 'ada', text: 'x' }))
await assert.rejects(bob.ask('POST', '/documents', { owner: 'bob' }))
const accounts = await fetch(`${CAIRN}/db/notes/collections/accounts/documents`, { headers: { Authorization: `Bearer ${bob.token}` } })
assert.equal(accounts.status, 403)
console.log('ok rules')
process.exit(changes > 4 ? 0 : 1)
