// Ask @dsnp/parquetjs, which looks at no filter by itself: read the row groups whose filters, by its
// own look-up, may have the value. The argument is the folder that it is installed in.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(`${process.argv[2]}/`)
const { ParquetReader, ParquetShredder } = require('@dsnp/parquetjs')

/** What the reader returns for the value, by one that it has read. */
function valueLike(sample, { literal, number, stored, type }) {
  const text = type.includes('INTEGER') ? literal : `${number ?? literal}`
  if (typeof sample === 'bigint') return BigInt(text)
  if (typeof sample === 'number') return Number(type.includes('DECIMAL') ? literal : text)
  if (sample instanceof Date) return new Date(literal.endsWith('Z') ? literal : `${literal}Z`)
  if (sample instanceof Uint8Array) return Buffer.from(stored, 'hex')
  if (typeof sample === 'string') return literal
  return JSON.parse(literal)
}

function isEqual(found, value) {
  if (value instanceof Uint8Array) return Buffer.compare(Buffer.from(found), value) === 0
  if (value instanceof Date) return found.getTime() === value.getTime()
  return typeof value === 'object' ? JSON.stringify(found) === JSON.stringify(value) : found === value
}

async function ask(question) {
  const reader = await ParquetReader.openFile(question.path)
  try {
    const rowsOf = async (index) => {
      const group = reader.metadata.row_groups[index]
      const buffer = await reader.envelopeReader.readRowGroup(reader.schema, group, [])
      return ParquetShredder.materializeRecords(reader.schema, buffer)
    }
    const first = await rowsOf(0)
    const value = valueLike(first[0].v, question)
    const filters = (await reader.getBloomFiltersFor(['v'])).v ?? []
    const found = []
    for (const index of reader.metadata.row_groups.keys()) {
      const filter = filters.find(({ rowGroupIndex }) => rowGroupIndex === index)
      if (filter && !(await filter.sbbf.check(value))) continue
      found.push(...(await rowsOf(index)).filter(({ v }) => isEqual(v, value)))
    }
    return found.map(({ n }) => Number(n)).sort((a, b) => a - b)
  } finally {
    await reader.close()
  }
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
