// What the page does with notes, and nothing of how it looks.
export class Notes {
  constructor(cairn, { token, name }) {
    Object.assign(this, { at: `${cairn}/db/notes/collections/notes`, token, name, all: new Map() })
  }
  async ask(method, path, body, type = 'application/json') {
    const headers = { Authorization: `Bearer ${this.token}`, ...(body && { 'Content-Type': type }) }
    const answer = await fetch(this.at + path, { method, headers, body: body && JSON.stringify(body) })
    if (!answer.ok) throw new Error((await answer.json()).message)
    return answer.status === 204 ? undefined : answer.json()
  }
  add = (text) => this.ask('POST', '/documents', { owner: this.name, text, shared: false })
  share = (id, shared) => this.ask('PATCH', `/documents/${id}`, { shared }, 'application/merge-patch+json')
  remove = (id) => this.ask('DELETE', `/documents/${id}`)
  /** Keeps `all` as it is in the database, and tells of each change, until the token ends. */
  async listen(changed) {
    const answer = await fetch(`${this.at}/changes`, { headers: { Authorization: `Bearer ${this.token}` } })
    // What happens while the notes are read is in the stream: the later version counts.
    const { documents } = await this.ask('POST', '/query', { limit: 1000 })
    documents.forEach(({ id, version, doc }) => this.all.set(id, { version, ...doc }))
    changed()
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let text = '', part; !(part = await reader.read()).done; ) {
      const events = (text += part.value).split('\n\n')
      text = events.pop()
      for (const event of events) {
        const [, kind, data] = event.match(/^event: (.*)\ndata: (.*)$/m) ?? []
        if (kind === 'delete') this.all.delete(JSON.parse(data).id)
        if (kind === 'insert' || kind === 'update') {
          const { id, version, doc } = JSON.parse(data)
          if (version >= (this.all.get(id)?.version ?? 0)) this.all.set(id, { version, ...doc })
        }
      }
      changed()
    }
  }
}
