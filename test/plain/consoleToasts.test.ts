import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'

type ToastOptions = { durationMs?: number; undo?(): void; onEnd?(): void }
type Toasts = {
  toasts: { value: readonly { id: number; text: string }[] }
  showToast(text: string, options?: ToastOptions): void
  dismissToast(id: number): void
  pauseToasts(): () => void
}

// Its types are those of a browser.
const module: unknown = await import(new URL('../../console/src/app/toasts.ts', import.meta.url).href)
const { dismissToast, pauseToasts, showToast, toasts } = module as Toasts

const undoMs = 6_000

describe('messages of the console', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'] }))
  afterEach(() => {
    for (const { id } of toasts.value) dismissToast(id)
    mock.timers.reset()
  })
  const texts = () => toasts.value.map(({ text }) => text)

  test('an undo action is never replaced by later messages', () => {
    const ended: string[] = []
    for (const text of ['first', 'second'])
      showToast(text, { durationMs: undoMs, undo() {}, onEnd: () => void ended.push(text) })
    for (let number = 1; number <= 6; number++) showToast(`message ${number}`)
    assert.deepEqual(texts(), [
      ...['first', 'second'],
      ...['message 3', 'message 4', 'message 5', 'message 6'],
    ])
    assert.deepEqual(ended, [])
    mock.timers.tick(undoMs)
    assert.deepEqual(ended, ['first', 'second'])
    assert.deepEqual(texts(), [])
  })

  test('their time stops while one is pointed at or cannot be reached', () => {
    let ended = 0
    showToast('removed', { durationMs: undoMs, undo() {}, onEnd: () => void ended++ })
    mock.timers.tick(undoMs - 1)
    const resume = pauseToasts()
    const resumeOther = pauseToasts()
    mock.timers.tick(10 * undoMs)
    resume()
    resume()
    mock.timers.tick(undoMs)
    assert.equal(ended, 0)
    resumeOther()
    assert.equal(ended, 0)
    mock.timers.tick(1)
    assert.equal(ended, 1)
  })
})
