import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readOptions, UsageError } from '../../reliability/options.ts'
import { formatTable, updateDocument } from '../../reliability/report.ts'
import { assertRunnable as assertAllRunnable, runChecks } from '../../reliability/runChecks.ts'
import type { Check, Verdict } from '../../reliability/verdict.ts'

const held: Verdict = { promise: 'Nothing is lost', method: 'kills', figures: '3 kills', isHeld: true }
const options = { isQuick: true, engines: ['sqlite'], seed: 1, log() {} } as const
const minuteMs = 60_000

describe('a run of checks of promises', () => {
  test('returns the verdicts of all checks, in order', async () => {
    const checkOf = (name: string): Check => ({ name, run: async () => [{ ...held, promise: name }] })
    const verdicts = await runChecks([checkOf('one'), checkOf('two')], options, minuteMs)
    assert.deepEqual(
      verdicts.map(({ promise }) => promise),
      ['one', 'two'],
    )
  })

  test('runs a check in the background while the next ones run', async () => {
    const { promise: nextHasRun, resolve } = Promise.withResolvers<void>()
    const background: Check = { name: 'soak', isBackground: true, run: () => nextHasRun.then(() => [held]) }
    const next: Check = {
      name: 'next',
      async run() {
        resolve()
        return []
      },
    }
    assert.equal((await runChecks([background, next], options, minuteMs))[0]?.isHeld, true)
  })

  test('reports a check that fails, and runs the next one', async () => {
    const failing: Check = { name: 'failing', run: () => Promise.reject(new Error('no HAProxy')) }
    const verdicts = await runChecks([failing, { name: 'next', run: async () => [held] }], options, minuteMs)
    assert.deepEqual(
      verdicts.map(({ isHeld }) => isHeld),
      [false, true],
    )
    assert.match(verdicts[0]?.explanation ?? '', /no HAProxy/)
  })

  test('does not begin if a program is missing', () => {
    const assertRunnable = () => {
      throw new Error('It needs HAProxy.')
    }
    const run = () => assert.fail('it ran')
    assert.throws(
      () =>
        assertAllRunnable(
          [
            { name: 'first', run },
            { name: 'histories', run, assertRunnable },
          ],
          options,
        ),
      new UsageError('histories: It needs HAProxy.'),
    )
  })

  test('ends at its time limit, and reports the checks that have not ended', async () => {
    const endless: Check = { name: 'endless', run: () => new Promise(() => {}) }
    const verdicts = await runChecks([endless, endless], options, 1)
    assert.deepEqual(
      verdicts.map(({ isHeld, explanation }) => [isHeld, /time limit/.test(explanation ?? '')]),
      [
        [false, true],
        [false, true],
      ],
    )
  })
})

test('the table has a row for each promise, and explains those that were not held', () => {
  const broken = { ...held, promise: 'a | b', isHeld: false, explanation: 'first\nsecond' }
  assert.equal(
    formatTable([held, broken]),
    `| promise | how it was tested | figures | |
| --- | --- | --- | --- |
| Nothing is lost | kills | 3 kills | held |
| a \\| b | kills | 3 kills | **not held** |

- a \\| b: first second`,
  )
})

test('a run of some checks keeps the results of the others in the document', () => {
  const names = ['one', 'two', 'three']
  const first = updateDocument(
    '',
    new Map([
      ['three', '3'],
      ['one', 'first\n\nof one'],
    ]),
    names,
  )
  const second = updateDocument(
    first,
    new Map([
      ['two', '2'],
      ['three', 'new'],
    ]),
    names,
  )
  assert.deepEqual(
    second.slice(second.indexOf('## ')),
    '## one\n\nfirst\n\nof one\n\n## two\n\n2\n\n## three\n\nnew\n',
  )
  assert.equal(updateDocument(second, new Map(), names), second)
})

describe('the options', () => {
  test('of a full run on both engines are the default', () => {
    const { seed, ...others } = readOptions([]) as { seed: number }
    assert.ok(Number.isSafeInteger(seed))
    assert.deepEqual(others, {
      isQuick: false,
      only: undefined,
      engines: ['sqlite', 'postgres'],
      outDir: undefined,
    })
  })

  test('choose checks, an engine and a seed', () =>
    assert.deepEqual(readOptions('--quick --only a,b --engine postgres --seed 7'.split(' ')), {
      isQuick: true,
      only: ['a', 'b'],
      engines: ['postgres'],
      seed: 7,
      outDir: undefined,
    }))

  for (const line of ['--engine mysql', '--seed x', '--out docs --quick', '--other'])
    test(`${line} is rejected`, () => assert.throws(() => readOptions(line.split(' ')), UsageError))
})
