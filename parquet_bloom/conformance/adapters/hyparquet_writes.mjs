// Let hyparquet-writer write. The argument is the folder that it is installed in.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const folder = process.argv[2]
const home = `${folder}/node_modules/hyparquet-writer`
const { parquetWriteFile } = await import(pathToFileURL(`${home}/src/node.js`).href)
const { version } = JSON.parse(readFileSync(`${home}/package.json`))
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)

const TYPES = {
  'INT32 INTEGER(32,true)': ['INT32', Number],
  'INT64 INTEGER(64,true)': ['INT64', BigInt],
  FLOAT: ['FLOAT', (text) => bits(text).readFloatBE()],
  DOUBLE: ['DOUBLE', (text) => bits(text).readDoubleBE()],
  'BYTE_ARRAY STRING': ['STRING', (text) => text],
  BYTE_ARRAY: ['BYTE_ARRAY', (text) => new Uint8Array(Buffer.from(text, 'hex'))],
  'FIXED_LEN_BYTE_ARRAY(16) UUID': ['UUID', (text) => text.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')],
}
const bits = (text) => Buffer.from(text.slice(2), 'hex')

say({ engine: 'hyparquet-writer', version })
for await (const line of createInterface({ input: process.stdin })) {
  const { id, values, output } = JSON.parse(line)
  try {
    const { schema, groups } = JSON.parse(readFileSync(values))
    const [type, read] = TYPES[schema.type] ?? []
    if (!type) {
      say({ id, skip: 'a type that this adapter does not know' })
      continue
    }
    const data = groups.flat().map((text) => (text === null ? null : read(text)))
    const columnData = [{ name: 'v', type, data, bloomFilter: true }]
    parquetWriteFile({ filename: output, columnData, rowGroupSize: groups[0].length })
    say({ id, written: true })
  } catch (error) {
    say({ id, error: `${error.name}: ${error.message}` })
  }
}
