import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeaderBlock, toResponse } from '../../src/api/response.ts'
import { answerOf } from '../../src/server/bun.ts'

// The second is Bun's way, which is right wherever an answer copies its headers at once.
for (const [way, make] of Object.entries({ toResponse, answerOf })) {
  test(`answers that share a letterhead say what is said to their own caller, and nothing of another: ${way}`, async () => {
    const letterhead = new HeaderBlock({ 'Content-Type': 'application/json', Vary: 'Origin' })
    const callers: Record<string, string>[] = [
      { 'X-RateLimit-Remaining': '59', 'X-Request-Id': 'a' },
      { 'X-RateLimit-Remaining': '58', 'X-Request-Id': 'b' },
      {
        'X-RateLimit-Remaining': '57',
        'X-Request-Id': 'c',
        'Access-Control-Allow-Origin': 'https://c.example',
      },
      { 'X-RateLimit-Remaining': '57', 'X-Request-Id': 'd' },
      {},
      { 'X-Request-Id': 'e', 'X-RateLimit-Remaining': '57' },
      { 'X-Request-Id': 'f' },
    ]
    const answers = callers.map((headers) =>
      make({ status: 200, letterhead, said: { headers, lines: '' }, body: '{}' }),
    )
    for (const [index, answer] of answers.entries()) {
      const expected = new Headers({ 'Content-Type': 'application/json', Vary: 'Origin', ...callers[index] })
      assert.deepEqual([...answer.headers].toSorted(), [...expected].toSorted(), `of caller ${index}`)
    }
  })
}
