// Serves the page, and tells who somebody is: accounts are documents that the application's own token reaches, and no user's. Notes go between the page
// and CairnDB, by a JSON Web Token whose claims the rules of `notes` read.
import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { DATA, CAIRN, APP } = process.env
const token = readFileSync(`${DATA}/token`, 'utf8').match(/cairn_\w+/)[0]
const secret = readFileSync(`${DATA}/notes.yaml`, 'utf8').match(/secret: "(\w+)"/)[1]
const page = readFileSync(new URL('page.html', import.meta.url), 'utf8').replace('{{CAIRN}}', CAIRN)
const script = readFileSync(new URL('notes.js', import.meta.url))

const url = (name) => `${CAIRN}/db/notes/collections/accounts/documents/${encodeURIComponent(name)}`
const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }

/** Whether the password is that of the account, which is made where there is none of the name. */
async function isAllowed({ name, password }) {
  if (!/^\w{1,40}$/.test(name) || !password) return false
  const salt = randomBytes(16).toString('hex')
  const hash = (salt) => scryptSync(String(password), salt, 32).toString('hex')
  const body = JSON.stringify({ salt, hash: hash(salt) })
  // Of all who are the first with a name one comes through.
  const made = await fetch(url(name), { method: 'PUT', headers: { ...headers, 'If-None-Match': '*' }, body })
  if (made.ok) return true
  const account = await (await fetch(url(name), { headers })).json()
  return timingSafeEqual(Buffer.from(account.hash), Buffer.from(hash(account.salt)))
}

function tokenOf(name) {
  const part = (of) => Buffer.from(JSON.stringify(of)).toString('base64url')
  const signed = `${part({ alg: 'HS256', kid: 'app' })}.${part({ sub: name, exp: Math.floor(Date.now() / 1000) + 900 })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

createServer(async (request, response) => {
  const answer = (status, type, body) => response.writeHead(status, { 'Content-Type': type }).end(body)
  if (request.url === '/') return answer(200, 'text/html; charset=utf-8', page)
  if (request.url === '/notes.js') return answer(200, 'text/javascript', script)
  if (request.url !== '/login' || request.method !== 'POST') return answer(404, 'text/plain', 'nothing here')
  try {
    let body = ''
    for await (const chunk of request) if ((body += chunk).length > 1000) throw new Error('too long')
    const who = JSON.parse(body)
    const isIn = await isAllowed(who)
    answer(isIn ? 200 : 401, 'application/json', JSON.stringify(isIn ? { token: tokenOf(who.name) } : { message: 'no such account and password' }))
  } catch {
    answer(400, 'text/plain', 'not as it has to be')
  }
}).listen(APP, 'localhost', () => console.log(`http://localhost:${APP}`))
