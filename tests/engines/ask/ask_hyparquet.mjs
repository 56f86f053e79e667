// Ask hyparquet. The argument is the folder that it is installed in.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const require = createRequire(`${process.argv[2]}/`)
const { asyncBufferFromFile, parquetReadObjects } = await import(
  pathToFileURL(require.resolve('hyparquet'))
)

/** What the engine returns for the value, by one that it has read. */
function valueLike(sample, { literal, number, stored, type }) {
  const text = type.includes(' TIME(') ? `${number}` : literal
  if (typeof sample === 'bigint') return BigInt(text)
  if (typeof sample === 'number') return Number(text)
  if (typeof sample === 'string') return literal
  if (sample instanceof Date) return roundedTo1970(`${literal.replace('Z', '')}Z`)
  if (sample instanceof Uint8Array) return new Uint8Array(Buffer.from(stored, 'hex'))
  return JSON.parse(literal)
}

/** As hyparquet rounds to milliseconds; Date rounds down. */
function roundedTo1970(text) {
  const date = new Date(text)
  return date < 0 && /\.\d{4,}Z/.test(text) ? new Date(date.getTime() + 1) : date
}

async function ask(question) {
  const file = await asyncBufferFromFile(question.path)
  const [first] = await parquetReadObjects({ file, columns: ['v'], rowEnd: 1, utf8: false })
  const filter = { v: { $eq: valueLike(first.v, question) } }
  const options = { file, columns: ['n'], filter, useBloomFilters: true, utf8: false }
  const rows = await parquetReadObjects(options)
  return rows.map(({ n }) => n).sort((a, b) => a - b)
}

const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)

say({ inside: '' })
for await (const line of createInterface({ input: process.stdin })) {
  try {
    say({ rows: await ask(JSON.parse(line)) })
  } catch (error) {
    say({ error: `${error.name}: ${error.message}` })
  }
}
