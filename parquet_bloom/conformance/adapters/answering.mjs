// What adapters in JavaScript share: a JSON line in, a JSON line out.

import { createInterface } from 'node:readline'

const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)

/** Thrown where the engine cannot be asked. */
export class Skip extends Error {}

/** The only value of a question; its stored bytes, and the same as text. */
export function one({ op, stored, literal, column }) {
  if (op !== '=' || column !== 'v') throw new Skip('neither SQL nor more than one value')
  return { stored: Buffer.from(stored[0], 'hex'), literal: literal[0] }
}

/** A question for each value of a list, as if it were the only one. */
export function ofEach(question) {
  if (question.op !== 'in') return [question]
  const { stored, literal } = question
  return stored.map((each, at) => ({ ...question, op: '=', stored: [each], literal: [literal[at]] }))
}

/** What the engine returns for a value, by one that it has read. */
export function valueLike(sample, question) {
  const { stored, literal } = one(question)
  const isCount = / TIME\(/.test(question.type)
  const count = stored.length === 8 ? stored.readBigInt64LE() : stored.length === 4 ? stored.readInt32LE() : 0
  const text = isCount ? `${count}` : literal
  if (typeof sample === 'bigint') return BigInt(text)
  if (typeof sample === 'number') return Number(text)
  if (typeof sample === 'string') return literal
  if (sample instanceof Date) return roundedTo1970(`${literal.replace('Z', '')}Z`)
  if (sample instanceof Uint8Array) return new Uint8Array(stored)
  return JSON.parse(literal)
}

/** As readers round to milliseconds; Date rounds down. */
function roundedTo1970(text) {
  const date = new Date(text)
  return date < 0 && /\.\d{4,}Z/.test(text) ? new Date(date.getTime() + 1) : date
}

/** Answer the questions of standard input: `ask` resolves to the row numbers. */
export async function answer(engine, version, ask) {
  say({ engine, version })
  for await (const line of createInterface({ input: process.stdin })) {
    const question = JSON.parse(line)
    try {
      const rows = (await ask(question)).map(Number)
      say({ id: question.id, rows })
    } catch (error) {
      if (error instanceof Skip) say({ id: question.id, skip: error.message })
      else say({ id: question.id, error: `${error.name}: ${error.message}` })
    }
  }
}
