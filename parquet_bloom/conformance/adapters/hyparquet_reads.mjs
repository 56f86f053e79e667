// Ask hyparquet. The argument is the folder that it is installed in.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { answer, ofEach, one, valueLike } from './answering.mjs'

const folder = process.argv[2]
const require = createRequire(`${folder}/`)
const { asyncBufferFromFile, parquetReadObjects } = await import(pathToFileURL(require.resolve('hyparquet')))
const { version } = JSON.parse(readFileSync(`${folder}/node_modules/hyparquet/package.json`))

await answer('hyparquet', version, async (question) => {
  const questions = ofEach(question)
  one(questions[0])
  const file = await asyncBufferFromFile(question.path)
  const [first] = await parquetReadObjects({ file, columns: ['v'], rowEnd: 1, utf8: false })
  const values = questions.map((each) => valueLike(first.v, each))
  const filter = { v: question.op === 'in' ? { $in: values } : { $eq: values[0] } }
  const rows = await parquetReadObjects({ file, columns: ['n'], filter, useBloomFilters: true, utf8: false })
  return rows.map(({ n }) => n)
})
