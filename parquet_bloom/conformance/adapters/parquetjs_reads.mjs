// Ask @dsnp/parquetjs, which looks at no filter by itself: read the row groups whose filters, by its own look-up, may
// have the value. The argument is the folder that it is installed in.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { answer, one } from './answering.mjs'

const folder = process.argv[2]
const require = createRequire(`${folder}/`)
const { ParquetReader, ParquetShredder } = require('@dsnp/parquetjs')
const { version } = JSON.parse(readFileSync(`${folder}/node_modules/@dsnp/parquetjs/package.json`))

/** What the reader returns for the value, by one that it has read. */
function valueLike(sample, question) {
  const { stored, literal } = one(question)
  const isNumber = question.type.startsWith('INT32') || question.type.startsWith('INT64')
  const number = isNumber && (stored.length === 8 ? stored.readBigInt64LE() : stored.readInt32LE())
  const text = isNumber && !question.type.includes('INTEGER') ? `${number}` : literal
  if (typeof sample === 'bigint') return BigInt(text)
  if (typeof sample === 'number') return Number(question.type.includes('DECIMAL') ? literal : text)
  if (sample instanceof Date) return new Date(literal.endsWith('Z') ? literal : `${literal}Z`)
  if (sample instanceof Uint8Array) return stored
  if (typeof sample === 'string') return literal
  return JSON.parse(literal)
}

function isEqual(found, value) {
  if (value instanceof Uint8Array) return Buffer.compare(Buffer.from(found), value) === 0
  if (value instanceof Date) return found.getTime() === value.getTime()
  return typeof value === 'object' ? JSON.stringify(found) === JSON.stringify(value) : found === value
}

await answer('@dsnp/parquetjs', version.replace(/^v/, ''), async (question) => {
  one(question)
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
    return found.map(({ n }) => n)
  } finally {
    await reader.close()
  }
})
