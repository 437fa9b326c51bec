import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { reasons } from '../../mutation/reasons.ts'
import { formatSurvivors, formatVerdict, type Result, summarize } from '../../mutation/report.ts'
import { targets } from '../../mutation/targets.ts'

const root = new URL('../../', import.meta.url)

test('mutation testing covers every subject, with files and tests that exist', () => {
  const subjects = new Set(targets.map(({ subject }) => subject))
  assert.deepEqual([...subjects].sort(), [
    'If-Match',
    'cursors',
    'idempotency',
    'int64',
    'keys',
    'limits',
    'orders',
    'transitions',
    'windows',
  ])
  for (const path of targets.flatMap(({ file, tests }) => [file, ...tests]))
    assert.ok(existsSync(new URL(path, root)), `${path} does not exist.`)
})

test('the reason for a mutant that is not noticed names code that exists', () => {
  for (const { file, code } of reasons)
    assert.ok(readFileSync(new URL(file, root), 'utf8').includes(code), `${file} has no ${code}`)
})

const survivor = {
  ...{ file: 'src/a.ts', line: 3, column: 5, code: 'if (a < b) return', mutator: 'EqualityOperator' },
  ...{ original: 'a < b', replacement: 'a <= b', isCovered: true },
}
const result = (subject: string, total: number, survivors: number): Result => ({
  ...{ subject, file: 'src/a.ts', total, seconds: 1 },
  survivors: Array.from({ length: survivors }, () => survivor),
})

test('less than 90 % of the mutants, of all or of one subject, is too few', () => {
  const enough = [result('limits', 100, 5), result('keys', 10, 1)]
  assert.equal(summarize(enough).isEnough, true)
  assert.equal(formatVerdict(enough), '104 of 110 mutants noticed (94.5 %).')
  const tooFew = [result('limits', 100, 5), result('keys', 10, 2)]
  assert.equal(summarize(tooFew).isEnough, false)
  assert.equal(formatVerdict(tooFew), '103 of 110 mutants noticed (93.6 %): less than 90 % of keys.')
  assert.equal(summarize([]).isEnough, false)
})

test('a mutant that is not noticed is listed with the reason for it', () => {
  const text = (replacements: string[]) =>
    formatSurvivors(
      [result('limits', 10, 1)],
      [{ file: 'src/a.ts', code: 'a < b', replacements, reason: 'It makes no difference.' }],
    )
  assert.match(
    text(['a <= b']),
    /\| `src\/a\.ts` 3 \| `` a < b `` \| `` a <= b `` \| It makes no difference\. \|$/,
  )
  assert.match(text(['a > b']), /\*\*no reason is known\*\* \|$/)
})
