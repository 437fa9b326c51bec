import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseEnvironmentFile } from '../../src/commands/environmentFile.ts'

describe('an environment file is read as systemd reads it', () => {
  const scenarios: [text: string, variables: Record<string, string>][] = [
    ['', {}],
    ['A=1\nB=two words\n', { A: '1', B: 'two words' }],
    ['# A=1\n; B=2\n\n  C=3\n', { C: '3' }],
    ['#A=1\nB=', { B: '' }],
    [
      'A=postgres://u:p@h/db?sslmode=verify-full&x=$1`y`#z\n',
      { A: 'postgres://u:p@h/db?sslmode=verify-full&x=$1`y`#z' },
    ],
    ['A = \t1 \t\nB=2', { A: '1', B: '2' }],
    [`A="a b"\nB='a "b" \\ $c'\nC="a \\"b\\" \\n \\$"\n`, { A: 'a b', B: 'a "b" \\ $c', C: 'a "b" \\n $' }],
    [`A='a' "b"c d\n`, { A: 'abc d' }],
    ['A=it"s\n', { A: 'it"s' }],
    ['A=one \\\n  two\nB="one\ntwo \\\nthree"\n', { A: 'one   two', B: 'one\ntwo three' }],
    ['# A comment \\\nA=1\nB=2\n', { B: '2' }],
    ['A=a\\ b\\\\ \nB=x\\ \n', { A: 'a b\\', B: 'x ' }],
    ['A=1\nA=2\n', { A: '2' }],
    ['export A=1\n1B=2\nno value\nC=3\n', { C: '3' }],
    ["A='open\n", { A: 'open\n' }],
    ['A="open\\"', { A: 'open"' }],
  ]
  for (const [text, variables] of scenarios)
    test(JSON.stringify(text), () =>
      assert.deepEqual(Object.fromEntries(parseEnvironmentFile(text)), variables),
    )
})
