import type { ComponentChildren } from 'preact'
import { keepFocus } from './focus.ts'
import { onSignOut } from './session.ts'
import { showToast } from './toasts.ts'

/**
 * An action that is sent when its undo time ends. It is sent at once when the page is closed or hidden for good, or at
 * sign-out, so it is never forgotten.
 */
type UndoableAction = {
  readonly text: ComponentChildren
  /** Sends the request. `isLeaving` is true if the page is being closed: use `keepalive`. */
  commit(isLeaving: boolean): void
  undo(): void
}

const undoMs = 6_000

type Pending = { finish(isLeaving: boolean): void; undo(): void }
/** In the order of the actions. */
const pending = new Set<Pending>()

export function runWithUndo({ text, commit, undo }: UndoableAction): void {
  const action: Pending = {
    finish(isLeaving) {
      if (!pending.delete(action)) return
      dismiss()
      commit(isLeaving)
    },
    undo() {
      if (!pending.delete(action)) return
      dismiss()
      undo()
      keepFocus()
    },
  }
  pending.add(action)
  const dismiss = showToast(text, {
    durationMs: undoMs,
    undo: () => action.undo(),
    onEnd: () => action.finish(false),
  })
}

/** Ctrl+Z takes the last action back, so the button needs not be reached with the keyboard in time. */
document.addEventListener('keydown', (event) => {
  const isUndo = event.key === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey
  const isTyping = (event.target as Element).closest('input, textarea, dialog') !== null
  const last = [...pending].at(-1)
  if (!isUndo || isTyping || !last) return
  event.preventDefault()
  last.undo()
})

const finishAll = () => {
  for (const action of [...pending]) action.finish(true)
}

globalThis.addEventListener('pagehide', finishAll)
onSignOut(finishAll)
