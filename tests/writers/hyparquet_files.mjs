// Files of hyparquet-writer, with filters of its own.
//
//     node hyparquet_files.mjs FOLDER, where FOLDER/../node_modules has the package

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = resolve(process.argv[2])
const home = join(folder, '..', 'node_modules', 'hyparquet-writer')
const { parquetWriteFile } = await import(pathToFileURL(join(home, 'src', 'node.js')).href)
const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))

const ROWS = 400

// Always the same (mulberry32).
let state = 14
function random() {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

function column(odd, make) {
  const data = [...odd, ...Array.from({ length: ROWS - odd.length }, make)]
  return data.map((value, row) => (row % 7 === 3 ? null : value))
}

const long = () => BigInt.asIntN(64, BigInt(Math.floor(random() * 2 ** 32)) << 33n) + BigInt(Math.floor(random() * 2 ** 31))
const bytes = length => Uint8Array.from({ length }, () => Math.floor(random() * 256))
const text = () => `Text ${Math.floor(random() * 1e9)} ß日`
const moment = () => new Date(Math.floor((random() - 0.5) * 5e13))
const number = () => (random() - 0.5) * 10 ** Math.floor(random() * 30)
const hex = length => Array.from(bytes(length), each => each.toString(16).padStart(2, '0')).join('')
const uuid = () => `${hex(4)}-${hex(2)}-${hex(2)}-${hex(2)}-${hex(6)}`

const columns = [
  { name: 'int32', type: 'INT32', data: column([0, -1, 2 ** 31 - 1, -(2 ** 31)], () => Math.floor((random() - 0.5) * 2 ** 32)) },
  { name: 'int64', type: 'INT64', data: column([0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)], long) },
  { name: 'float', type: 'FLOAT', data: column([0, -0, NaN, Infinity, -Infinity], () => Math.fround(number())) },
  { name: 'double', type: 'DOUBLE', data: column([0, -0, NaN, Infinity, 5e-324], number) },
  { name: 'half', type: 'FLOAT16', data: column([0, -0, NaN, 65504], () => Math.floor(random() * 2048) / 16) },
  { name: 'text', type: 'STRING', data: column(['', ' ', 'ä', 'é', '🦆', 'a\0b', '"q"'], text) },
  { name: 'json', type: 'JSON', data: column([{}], () => ({ a: text() })) },
  { name: 'binary', type: 'BYTE_ARRAY', data: column([new Uint8Array(0), bytes(300)], () => bytes(1 + Math.floor(random() * 20))) },
  { name: 'uuid', type: 'UUID', data: column([], uuid) },
  { name: 'moment', type: 'TIMESTAMP', data: column([new Date(0), new Date(-1)], moment) },
]

for (const [name, options] of [['plain', { codec: 'UNCOMPRESSED' }], ['own', { dictionarySize: 1000, pageSize: 2000 }]]) {
  const columnData = columns.map(each => ({ ...each, bloomFilter: name === 'own' }))
  parquetWriteFile({ filename: join(folder, `${name}.parquet`), columnData, rowGroupSize: 160, ...options })
}
console.log(version)
