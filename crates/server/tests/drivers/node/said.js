// What the scripts in JavaScript share: the list of types, and the word for what holds.
const { readFileSync } = require('fs')
const { join } = require('path')

exports.types = readFileSync(join(__dirname, '..', 'types.tsv'), 'utf8').trimEnd().split('\n').map((line) => line.split('\t'))
exports.quoted = (text) => `'${text.replaceAll("'", "''")}'`
exports.ok = (item) => console.log('ok', item)
exports.run = async (items) => {
  for (const item of items) {
    await item()
    exports.ok(item.name)
  }
}
